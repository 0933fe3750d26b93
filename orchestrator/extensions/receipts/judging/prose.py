"""Find the sentences of an answer: no code, quotations, tables, letters or open to-dos."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import orjson

MAX_TEXT = 100_000  # characters of an answer that are looked at
MAX_LINE = 8_000  # characters of a line that are looked at
MAX_SENTENCE = 600  # characters; what is longer is no sentence that a person would say
FENCE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
LETTERS_FILE = Path(__file__).with_name("letters.json")
BULLET = re.compile(r"\s{0,40}(?:[-*+•▪◦►→·]\s+|\d{1,2}[.)]\s+|#{1,6}\s+)*(?:\[[xX]\]\s*)?")
DROPPED = re.compile(
    r"\s{0,40}(?:>|\||(?:[-*+]|\d{1,3}[.)])?\s{0,9}\[ \])|^(?: {4}|\t)(?![-*+•\d\s])"
)
RULE = re.compile(r"\s{0,40}(?:-{3,}|\*{3,}|_{3,}|={3,})\s{0,40}")
QUOTATION = re.compile(
    r"“[^“”\n]{1,400}”|„[^„“”\n]{1,400}[“”]|«[^«»\n]{1,400}»|「[^「」\n]{1,400}」|《[^《》\n]{1,200}》"
    r"|『[^『』\n]{1,400}』|\"[^\"\n]{1,400}\"|`[^`\n]{1,200}`|(?<!\w)'[^'\n]{2,200}'(?!\w)"
    r"|\u2018[^\u2018\u2019\n]{2,200}\u2019(?!\w)"
)
LINK = re.compile(r"!?\[([^\]\n]{0,200})\]\([^)\s]{0,400}\)")
EMPHASIS = re.compile(r"\*{1,3}|(?<!\w)_{1,3}|_{1,3}(?!\w)|~~")
ENDING = re.compile(
    r"(?<=[.!?…])[)\"*_]*\s+|(?<=[。\uff01\uff1f!?])|\s[-\u2013—]\s(?=[✅✔☑])|(?=[✅✔☑❌✗⏳])"
)
ABBREVIATION = re.compile(
    r"\b(?:Dr|Mr|Mrs|Ms|St|No|Nr|Sr|Sra|Prof|Hr|Fr|z\.?B|d\.?h|bzw|ca|etc|e\.g|i\.e|p\.ej|vs|approx"
    r"|a\.m|p\.m|ul|np|godz|Uhr|M|Mme|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Sept|Oct|Okt|Nov|Dec|Dez)\.$"
)
DAY = re.compile(r"(?<![\d:.,])\d{1,2}\.$")
MONTH = re.compile(r"(?:Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez)\w*\b")
FIRST, LAST = "\ue000", "\ue001"  # around the number of a quotation that was taken out
TAKEN_OUT = re.compile(f"{FIRST}(\\d+){LAST}")
TAIL = 12  # characters in which an abbreviation is looked for


class Sentence(NamedTuple):
    """A sentence whose quotations are taken out; ``shown`` is the text with them."""

    text: str
    quotations: tuple[str, ...]
    shown: str


def list_lines(text: str) -> list[str]:
    """Return the lines of prose; letters that the answer drafts are left out."""
    text = text[:MAX_TEXT]
    if "```" in text or "~~~" in text:
        text = FENCE.sub("\n", text)
    return [
        line
        for line in _skip_letters([line[:MAX_LINE] for line in text.splitlines()])
        if line.strip()
    ]


@cache
def load_letter_patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return what begins a letter that an answer drafts, and what ends it.

    Call it before the process loses its access to files.
    """
    data: dict[str, str] = orjson.loads(LETTERS_FILE.read_bytes())
    begins = (
        rf"\W{{0,4}}(?:(?:{data['openings']})\b[^.?]{{0,60}}[,:!]"
        rf"|(?:{data['unspaced_openings']})[,:!\uff0c\uff1a\uff01]"
        rf"|(?:{data['subjects']})\W{{0,4}}[:\uff1a].*)\W*"
    )
    ends = rf"\W{{0,4}}(?:{data['closings']})[^.?]{{0,40}}\W*"
    return re.compile(begins, re.IGNORECASE), re.compile(ends, re.IGNORECASE)


def _skip_letters(lines: list[str]) -> Iterator[str]:
    begins, ends = load_letter_patterns()
    inside, closing = False, 0
    for number, line in enumerate(lines):
        if inside and RULE.fullmatch(line):
            inside = False
        elif closing:
            closing -= bool(line.strip())
            inside = closing > 0
        elif inside and ends.fullmatch(line):
            closing = 1
        elif number and not inside and begins.fullmatch(line):
            inside = True
        elif not inside and not DROPPED.match(line):
            yield line


def split_line(line: str) -> list[Sentence]:
    """Return the sentences of a line of Markdown."""
    quotations: list[str] = []

    def take_out(found: re.Match[str]) -> str:
        quotations.append(found[0][1:-1])
        return f"{FIRST}{len(quotations) - 1}{LAST}"

    line = line.replace(FIRST, "").replace(LAST, "")
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
        end = joined[-1][-TAIL:] if joined and len(joined[-1]) < MAX_SENTENCE else ""
        dated = DAY.search(end) and MONTH.match(part)
        if end and (dated or ABBREVIATION.search(end) or part[:1].islower()):
            joined[-1] += f" {part}"
        elif part.strip():
            joined.append(part)
    return joined


def _put_back(text: str, quotations: list[str]) -> str:
    return TAKEN_OUT.sub(lambda found: f'"{quotations[int(found[1])]}"', text).strip()
