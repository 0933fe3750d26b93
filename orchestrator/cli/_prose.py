"""Sentences and pages of the manual, folded at words for a terminal.

Programs get each line whole, as they read lines.
"""

import re
import shutil
import sys
from collections.abc import Iterator
from itertools import groupby

import typer

from thinker.protocol.folded_lines import fold
from thinker.protocol.visible_text import printable

ITEM = re.compile(r"(?:[-*]|\d+\.) ")
AS_IS = ("#", "|", "<", "    ")  # headings, tables, comments and code
FENCE = "```"


def say(text: str, *, err: bool = False) -> None:
    """Print a text that may hold anything, folded at words if a terminal shows it."""
    stream = sys.stderr if err else sys.stdout
    shown = printable(text)
    typer.echo(fold(shown, screen()[0]) if stream.isatty() else shown, err=err)


def screen() -> tuple[int, int]:
    """Return the columns that a line of the terminal may fill, and its lines."""
    columns, lines = shutil.get_terminal_size()
    return max(columns - 1, 1), lines


def page(markdown: str, width: int) -> str:
    """Return a page with its paragraphs set to ``width``; tables and code stay as they are."""
    return "\n".join(_blocks(markdown.split("\n"), width))


def _blocks(lines: list[str], width: int) -> Iterator[str]:
    for number, block in groupby(_numbered(lines), lambda pair: pair[0]):
        body = [line for _, line in block]
        if number < 0:
            yield from body
        else:
            found = ITEM.match(body[0])
            yield fold(" ".join(map(str.strip, body)), width, " " * (found.end() if found else 0))


def _numbered(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Yield each line with the number of its paragraph, -1 outside of all."""
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
