"""Give each word of a sentence its part, by one letter, so that patterns can be matched."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from orchestrator.extensions.receipts.judging.languages import Language
from orchestrator.extensions.receipts.judging.prose import FIRST, LAST, Sentence

MAX_TOKENS = 150  # words of a sentence that are looked at
ENDINGS = (
    "txt|md|pdf|docx?|xlsx?|pptx?|csv|tsv|json|ya?ml|toml|ini|cfg|conf|env|log|html?|css|jsx?|tsx?|py"
    "|rs|go|java|kt|c|cpp|h|sh|sql|xml|zip|gz|tar|7z|png|jpe?g|gif|svg|webp|mp3|mp4|wav|ogg|ics|eml"
    "|db|sqlite|ipynb|tex|odt|ods|bak|epub|vcf"
)
PIECES = re.compile(
    rf"(?P<quotation>{FIRST}\d+{LAST})"
    r"|(?P<address>[A-Za-z0-9_.+%-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)"
    r"|(?P<url>https?://[^\s)>\]\uff0c。\uff1b]+)"
    rf"|(?P<file>(?:~?/)?(?:[\w-]+/)*[\w.-]*[\w-]\.(?:{ENDINGS})(?![A-Za-z0-9_]))"
    r"|(?P<code>#?(?=[A-Z0-9-]*[A-Z])(?=[A-Z0-9-]*\d)[A-Z0-9]+(?:-[A-Z0-9]+)*(?![a-z]))"
    r"|(?P<money>[$€£¥]\s?\d[\d.,]*|\d(?:[\d.,]*\d)?\s?(?:[€$£¥]|元|块|zł|EUR|USD|PLN|CHF|GBP))"
    r"|(?P<number>[+#(]?\d[\d.,:/'\u2019 \u00a0()-]*\d|\d)"
    r"|(?P<word>[^\W\d_]+n't\b|'(?:ve|s|re|ll|d|m)\b|[^\W\d_]+(?=(?:'(?:ve|s|re|ll|d|m)\b))"
    r"|[^\W\d_]+'(?=[^\W\d_])|[^\W\d_]+(?:-[^\W\d_]+)*)"
    r"|(?P<mark>[,;:()\[\]\u2013—…\uff0c\uff1b\uff1a、\uff08\uff09|→]|\s-\s)"
    r"|(?P<yes>[✅✔☑👍🎉📧📅✉])|(?P<no>[❌✗✘🚫])|(?P<later>[⏳🔜⌛☐])"
)
APOSTROPHE = "\u2019"
SPOKEN = "word"
TAGS = {"mark": ",", "yes": "U", "no": "N", "later": "M", "number": "#", "money": "#"}
BREAKS = frozenset(",&K")


class Token(NamedTuple):
    """A word or value of a sentence; ``text`` in lower case if it is a word."""

    text: str
    kind: str
    tag: str
    written: str


def tag_tokens(sentence: Sentence, language: Language) -> list[Token]:
    """Return the tokens of a sentence with their parts."""
    pieces = list(_iter_pieces(sentence, language))[:MAX_TOKENS]
    tokens: list[Token] = []
    place = 0
    while place < len(pieces):
        kind, written = pieces[place]
        text = written.lower() if kind == SPOKEN else written
        taken = _find_sequence([p[1].lower() for p in pieces[place : place + 6]], language)
        if kind == SPOKEN and taken:
            written = text = " ".join(one.lower() for _, one in pieces[place : place + taken])
        tag = _choose_tag(kind, text, written, language, place)
        if tag == "P" and text in language.nouns and (not tokens or tokens[-1].tag in "DU,"):
            tag = "O"
        tokens.append(Token(text, kind, tag, written))
        place += max(taken, 1) if kind == SPOKEN else 1
    return tokens


def _iter_pieces(sentence: Sentence, language: Language) -> Iterator[tuple[str, str]]:
    text = sentence.text.replace(APOSTROPHE, "'")
    if language.simplified:
        text = text.translate(language.simplified)
    for found in PIECES.finditer(text):
        kind, text = found.lastgroup or "", found[0]
        if kind == "quotation":
            inner = sentence.quotations[int(text[1:-1])]
            whole = PIECES.fullmatch(inner)
            is_value = whole is not None and whole.lastgroup in {"address", "file"}
            yield (whole.lastgroup or "" if whole and is_value else kind), inner
        elif kind == SPOKEN and language.tokens is not None:
            yield from _split_unspaced(text, language.tokens)
        else:
            yield kind, text


def _split_unspaced(text: str, known: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """Yield the known words of a text without spaces, and what stands between them."""
    place = 0
    for found in known.finditer(text):
        if found.start() > place:
            yield SPOKEN, text[place : found.start()]
        yield SPOKEN, found[0]
        place = found.end()
    if place < len(text):
        yield SPOKEN, text[place:]


def _find_sequence(texts: list[str], language: Language) -> int:
    """Return how many tokens a known sequence of words takes here; 0 if none begins."""
    for words in language.sequences.get(texts[0], ()):
        if tuple(texts[: len(words)]) == words:
            return len(words)
    return 0


def _choose_tag(kind: str, text: str, written: str, language: Language, place: int) -> str:
    if kind in TAGS:
        return TAGS[kind]
    if kind != SPOKEN:
        return "@"
    known = language.tags.get(text)
    if known is not None:
        return known
    if language.find_noun(text):
        return "O"
    if any(text.endswith(one) for one in language.file.adverb_endings):
        return "A"
    return "n" if place and written[:1].isupper() else "w"
