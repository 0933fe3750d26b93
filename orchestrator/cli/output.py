"""Text for the terminal: sentences and pages folded at words, times and numbers.

Lines are never folded for programs.
"""

import re
import shutil
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import groupby
from typing import TextIO

from thinker.protocol.folded_lines import fold_lines
from thinker.protocol.visible_text import escape_hidden, make_printable

__all__ = [
    "escape_hidden",
    "fold_page",
    "format_count",
    "format_minute",
    "format_moment",
    "get_screen_size",
    "make_printable",
    "print_text",
    "write_line",
]

ITEM = re.compile(r"(?:[-*]|\d+\.) ")
AS_IS = ("#", "|", "<", "    ")  # headings, tables, comments and code
FENCE = "```"


def write_line(text: str = "", *, err: bool = False) -> None:
    """Write a line to stdout or stderr at once, as it is; a stream that is closed gets nothing."""
    stream: TextIO | None = sys.stderr if err else sys.stdout
    if stream is not None:  # as the parent process may have closed it
        stream.write(f"{text}\n")
        stream.flush()


def print_text(text: str, *, err: bool = False) -> None:
    """Print text, folded at words on a terminal."""
    stream: TextIO | None = sys.stderr if err else sys.stdout
    shown, folds = make_printable(text), stream is not None and stream.isatty()
    write_line(fold_lines(shown, get_screen_size()[0]) if folds else shown, err=err)


def format_minute(seconds: float) -> str:
    """Format a time (seconds since the epoch) in UTC, to the minute."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M}"


def format_moment(milliseconds: int) -> str:
    """Format a time (milliseconds since the epoch) in UTC, to the millisecond."""
    at = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return f"{at:%Y-%m-%d %H:%M:%S}.{milliseconds % 1000:03}"


def format_count(number: int, noun: str) -> str:
    """Return a number with its noun: ``no errors``, ``1 error``, ``2 errors``."""
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"


def get_screen_size() -> tuple[int, int]:
    """Return the columns and lines of the terminal."""
    columns, lines = shutil.get_terminal_size()
    return max(columns - 1, 1), lines


def fold_page(markdown: str, width: int) -> str:
    """Return a page with paragraphs folded to ``width``; tables and code are unchanged."""
    return "\n".join(_fold_blocks(markdown.split("\n"), width))


def _fold_blocks(lines: list[str], width: int) -> Iterator[str]:
    for number, block in groupby(_number_lines(lines), lambda pair: pair[0]):
        body = [line for _, line in block]
        if number < 0:
            yield from body
        else:
            found = ITEM.match(body[0])
            yield fold_lines(
                " ".join(map(str.strip, body)), width, " " * (found.end() if found else 0)
            )


def _number_lines(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Yield each line with the number of its paragraph, or -1 outside of one."""
    number, code, inside = 0, False, False
    for line in lines:
        fence = line.startswith(FENCE)
        if fence or code or not line.strip() or line.startswith(AS_IS):
            code, inside = code != fence, False
            yield -1, line
            continue
        if not inside or ITEM.match(line):
            number += 1
        inside = True
        yield number, line
