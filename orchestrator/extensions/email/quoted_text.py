"""Tell a mail's own words from what it quotes or passes on. Pure."""

import re
from collections.abc import Sequence
from typing import NamedTuple

MAX_SIGNATURE = 20  # lines
MAX_ATTRIBUTION = 3  # lines of "On Monday, Ann wrote:"
_ORIGINAL = re.compile(r"-{3,} ?[^-\s].{0,60}? ?-{3,}|_{20,}")  # above Outlook's quote
_FORWARD = re.compile(
    r"forwarded|weitergeleitet|transfer|transmis|reenviad|inoltrat", re.IGNORECASE
)
_FIELD = re.compile(r"\*?[^\W\d][\w -]{1,20}\*?:\*?\s+\S")
_DATED = re.compile(r"(?:On|Am|Le|El|Il|Op|Em|Den|W dniu|Pe)\b.*\d")  # "On 26 May …"
_FROM = re.compile(r"\*?(?:From|Von|De|Da|Van|Från|Fra)\*?:", re.IGNORECASE)


class MailWords(NamedTuple):
    """The words of a mail's writer, and those of another mail that it quotes or passes on."""

    own: str
    quoted: str = ""
    forwarded: bool = False


def split_quoted_text(text: str, *, answer: bool, forwarded: bool = False) -> MailWords:
    """Tell the words of a mail's writer from those of another mail.

    Args:
        text: the mail.
        answer: whether it answers another mail, which it may quote above or below; a quote with
            answers between its lines stays.
        forwarded: whether its subject says that it passes on another mail.
    """
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    start = _find_forwarded(lines, said=forwarded)
    if start is not None:
        return MailWords(_join_own(lines[:start]), "\n".join(lines[start:]).strip(), forwarded=True)
    if not answer:
        return MailWords(_join_own(lines))
    above = _strip_trailing_quote(_strip_original(lines))
    own = _strip_leading_quote(above)
    quoted = [*above[: len(above) - len(own)], *lines[len(above) :]]
    return MailWords(_join_own(own), "\n".join(map(_strip_mark, quoted)).strip())


def _join_own(lines: list[str]) -> str:
    return "\n".join(_strip_signature(lines)).strip()


def _strip_mark(line: str) -> str:
    return line[1:].removeprefix(" ") if line.startswith(">") else line


def _find_forwarded(lines: list[str], *, said: bool) -> int | None:
    """Return where another mail begins that is passed on."""
    for number, line in enumerate(lines):
        marked = _FORWARD.search(line) is not None
        if marked and (_ORIGINAL.fullmatch(line) or line.endswith(":")):
            return number
    end = len(_strip_original(lines)) if said else len(lines)
    return end if end < len(lines) else None


def _strip_original(lines: list[str]) -> list[str]:
    """Remove the original mail below a separator or its header fields."""
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


def _strip_trailing_quote(lines: list[str]) -> list[str]:
    """Remove quoted lines at the end, with their attribution."""
    end = _find_quote_start(lines, len(lines))
    if not any(line.startswith(">") for line in lines[end:]):
        return lines
    return lines[: _find_attribution_start(lines, end)]


def _strip_leading_quote(lines: list[str]) -> list[str]:
    """Remove quoted lines at the beginning, unless others are quoted below."""
    quoted = [number for number, line in enumerate(lines) if line.startswith(">")]
    if not quoted:
        return lines
    start, end = quoted[0], quoted[-1] + 1
    whole = _find_quote_start(lines, end) <= start
    return (
        lines[end:] if whole and not any(lines[: _find_attribution_start(lines, start)]) else lines
    )


def _find_quote_start(lines: Sequence[str], end: int) -> int:
    """Return where the quoted and empty lines that end here begin."""
    while end and (not lines[end - 1] or lines[end - 1].startswith(">")):
        end -= 1
    return end


def _find_attribution_start(lines: Sequence[str], end: int) -> int:
    """Return where the attribution of the quote that starts here begins."""
    while end and not lines[end - 1]:
        end -= 1
    if not end or not lines[end - 1].endswith(":"):
        return end
    for begin in range(end - 1, max(-1, end - 1 - MAX_ATTRIBUTION), -1):
        if _DATED.match(lines[begin]):
            return begin
    return end - 1 if re.search(r"[\d@]", lines[end - 1]) else end


def _strip_signature(lines: list[str]) -> list[str]:
    for number, line in enumerate(lines):
        if line == "--" and len(lines) - number <= MAX_SIGNATURE:
            return lines[:number]
    return lines
