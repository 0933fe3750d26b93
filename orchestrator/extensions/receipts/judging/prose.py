"""Find the sentences of an answer: no code, quotations, tables, letters or open to-dos."""

import re
from collections.abc import Iterator
from typing import NamedTuple

MAX_TEXT = 100_000  # characters of an answer that are looked at
MAX_SENTENCE = 600  # characters; what is longer is no sentence that a person would say
FENCE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
BULLET = re.compile(r"\s*(?:[-*+•▪◦►→·]\s+|\d{1,2}[.)]\s+|#{1,6}\s+)*(?:\[[xX]\]\s*)?")
DROPPED = re.compile(r"\s*(?:>|\||(?:[-*+]|\d+[.)])?\s*\[ \])|^(?: {4}|\t)(?![-*+•\d\s])")
RULE = re.compile(r"\s*(?:-{3,}|\*{3,}|_{3,}|={3,})\s*")
LETTER = re.compile(
    r"\W{0,4}(?:(?:dear|hi|hello|hey|sehr geehrte[rs]?|liebe[rs]?|hallo|guten tag|hola|buen[oa]s"
    r"|estimad[oa]s?|querid[oa]s?|bonjour|bonsoir|ch[eè]re?s?|salut|coucou|dzień dobry|szanown\w+"
    r"|drogi|droga|cześć|witaj|caro|cara|gentile|ciao|olá|oi|prezad[oa]|beste|geachte|dag"
    r"|здравствуйте|уважаем\w+|привет|добрий день|шановн\w+|привіт|merhaba|sayın)\b[^.?]{0,60}[,:!]"
    r"|(?:尊敬的|亲爱的|親愛的)[^。?]{0,40}[,，:：!！]|[^。?]{1,12}(?:您好|你好)[,，:：!！]"
    r"|(?:subject|betreff|asunto|objet|sujet|temat|oggetto|assunto|onderwerp|тема|konu)\W{0,4}:.*"
    r"|(?:主题|主題|件名)\W{0,3}[:：].*)\W*",
    re.IGNORECASE,
)
CLOSING = re.compile(
    r"\W{0,4}(?:best|kind|warm|many|with|sincerely|regards|thanks|thank you|cheers|yours|viele"
    r"|liebe|beste|mit freundlichen|herzliche|schöne|lg|vg|saludos|un saludo|atentamente"
    r"|cordialmente|un abrazo|gracias|cordialement|bien à vous|bien cordialement|merci|bises"
    r"|amicalement|pozdrawiam|z poważaniem|serdecznie|pozdrowienia|dziękuję|saluti|cordiali"
    r"|atenciosamente|abraços|met vriendelijke|groet\w*|с уважением|спасибо|з повагою|saygılar\w*"
    r"|此致|祝好|祝|谢谢|敬礼|よろしく)[^.?]{0,40}\W*",
    re.IGNORECASE,
)
QUOTATION = re.compile(
    r"“[^“”\n]{1,400}”|„[^„“”\n]{1,400}[“”]|«[^«»\n]{1,400}»|「[^「」\n]{1,400}」|《[^《》\n]{1,200}》"
    r"|『[^『』\n]{1,400}』|\"[^\"\n]{1,400}\"|`[^`\n]{1,200}`|(?<!\w)'[^'\n]{2,200}'(?!\w)"
    r"|‘[^‘’\n]{2,200}’(?!\w)"
)
LINK = re.compile(r"!?\[([^\]\n]{0,200})\]\([^)\s]{0,400}\)")
EMPHASIS = re.compile(r"\*{1,3}|(?<!\w)_{1,3}|_{1,3}(?!\w)|~~")
ENDING = re.compile(r"(?<=[.!?…])[)\"*_]*\s+|(?<=[。！？!?])|\s[-–—]\s(?=[✅✔☑])|(?=[✅✔☑❌✗⏳])")
ABBREVIATION = re.compile(
    r"\b(?:Dr|Mr|Mrs|Ms|St|No|Nr|Sr|Sra|Prof|Hr|Fr|z\.?B|d\.?h|bzw|ca|etc|e\.g|i\.e|p\.ej|vs|approx"
    r"|a\.m|p\.m|ul|np|godz|Uhr|M|Mme|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Sept|Oct|Okt|Nov|Dec|Dez)\.$"
)
DAY = re.compile(r"(?<![\d:.,])\d{1,2}\.$")
MONTH = re.compile(r"(?:Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez)\w*\b")
FIRST, LAST = "\ue000", "\ue001"  # around the number of a quotation that was taken out


class Sentence(NamedTuple):
    """A sentence whose quotations are taken out; ``shown`` is the text with them."""

    text: str
    quotations: tuple[str, ...]
    shown: str


def list_lines(text: str) -> list[str]:
    """Return the lines of prose; letters that the answer drafts are left out."""
    if "```" in text or "~~~" in text:
        text = FENCE.sub("\n", text)
    return [line for line in _skip_letters(text[:MAX_TEXT].splitlines()) if line.strip()]


def _skip_letters(lines: list[str]) -> Iterator[str]:
    inside, closing = False, 0
    for number, line in enumerate(lines):
        if inside and RULE.fullmatch(line):
            inside = False
        elif closing:
            closing -= bool(line.strip())
            inside = closing > 0
        elif inside and CLOSING.fullmatch(line):
            closing = 1
        elif number and not inside and LETTER.fullmatch(line):
            inside = True
        elif not inside and not DROPPED.match(line):
            yield line


def split_line(line: str) -> list[Sentence]:
    """Return the sentences of a line of Markdown."""
    quotations: list[str] = []

    def take_out(found: re.Match[str]) -> str:
        quotations.append(found[0][1:-1])
        return f"{FIRST}{len(quotations) - 1}{LAST}"

    bare = LINK.sub(r"\1", BULLET.sub("", line, count=1))
    bare = QUOTATION.sub(take_out, EMPHASIS.sub("", bare)).strip()
    parts = _join_abbreviations(ENDING.split(bare))
    return [
        Sentence(part, tuple(quotations), _put_back(part, quotations))
        for part in parts
        if len(part) <= MAX_SENTENCE
    ]


def _join_abbreviations(parts: list[str]) -> list[str]:
    joined: list[str] = []
    for part in parts:
        dated = joined and DAY.search(joined[-1]) and MONTH.match(part)
        if joined and (dated or ABBREVIATION.search(joined[-1]) or part[:1].islower()):
            joined[-1] += f" {part}"
        elif part.strip():
            joined.append(part)
    return joined


def _put_back(text: str, quotations: list[str]) -> str:
    for number, quotation in enumerate(quotations):
        text = text.replace(f"{FIRST}{number}{LAST}", f'"{quotation}"')
    return text.strip()
