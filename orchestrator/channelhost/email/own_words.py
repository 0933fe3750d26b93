"""What a person wrote in a mail: without the mail that it answers and without a signature. Pure."""

import re
from collections.abc import Sequence

MAX_SIGNATURE = 20  # lines
MAX_ATTRIBUTION = 3  # lines of "On Monday, Ann wrote:"
_ORIGINAL = re.compile(r"-{3,} ?[^-\s].{0,60}? ?-{3,}|_{20,}")  # above what Outlook repeats
_FIELD = re.compile(r"\*?[^\W\d][\w -]{1,20}\*?:\*?\s+\S")
_DATED = re.compile(r"(?:On|Am|Le|El|Il|Op|Em|Den|W dniu|Pe)\b.*\d")  # "On 26 May …"
_FROM = re.compile(r"\*?(?:From|Von|De|Da|Van|Från|Fra)\*?:", re.IGNORECASE)


def own_words(text: str, *, answer: bool) -> str:
    """Return the words of a mail's writer; all of it if nothing else would be left.

    Args:
        text: the mail.
        answer: whether it answers another mail, which it may repeat: above or below, but answers
            between its lines keep it.
    """
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    if answer:
        lines = _without_leading(_without_trailing(_without_original(lines)))
    own = "\n".join(_without_signature(lines)).strip()
    return own or text.strip()


def _without_original(lines: list[str]) -> list[str]:
    """Leave out a repeated mail below a line or its first fields."""
    for number, line in enumerate(lines):
        if _ORIGINAL.fullmatch(line):
            head = [text for text in lines[number + 1 : number + 5] if text]
        elif _FROM.match(line):
            head = lines[number : number + 2]
        else:
            continue
        if len(head) > 1 and all(map(_FIELD.match, head[:2])):
            return lines[:number]
    return lines


def _without_trailing(lines: list[str]) -> list[str]:
    """Leave out quoted lines at the end, and who wrote them."""
    end = _quoted_above(lines, len(lines))
    if not any(line.startswith(">") for line in lines[end:]):
        return lines
    return lines[: _attribution(lines, end)]


def _without_leading(lines: list[str]) -> list[str]:
    """Leave out quoted lines at the beginning, unless others are quoted below."""
    quoted = [number for number, line in enumerate(lines) if line.startswith(">")]
    if not quoted:
        return lines
    start, end = quoted[0], quoted[-1] + 1
    whole = _quoted_above(lines, end) <= start
    return lines[end:] if whole and not any(lines[: _attribution(lines, start)]) else lines


def _quoted_above(lines: Sequence[str], end: int) -> int:
    """Return where the quoted and empty lines begin that end here."""
    while end and (not lines[end - 1] or lines[end - 1].startswith(">")):
        end -= 1
    return end


def _attribution(lines: Sequence[str], end: int) -> int:
    """Return where the lines begin that say who wrote what is quoted from here."""
    while end and not lines[end - 1]:
        end -= 1
    if not end or not lines[end - 1].endswith(":"):
        return end
    for begin in range(end - 1, max(-1, end - 1 - MAX_ATTRIBUTION), -1):
        if _DATED.match(lines[begin]):
            return begin
    return end - 1 if re.search(r"[\d@]", lines[end - 1]) else end


def _without_signature(lines: list[str]) -> list[str]:
    for number, line in enumerate(lines):
        if line == "--" and len(lines) - number <= MAX_SIGNATURE:
            return lines[:number]
    return lines
