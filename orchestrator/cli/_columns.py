"""The lines of a table that fit a terminal.

Dates, ids and numbers are never split. The widest column is folded at words if that leaves it room;
otherwise it stands below each row, so that a narrow terminal shows a list.
"""

import re
import shutil
import sys
from collections.abc import Iterator, Sequence

from rich.cells import cell_len, set_cell_size

PIPE_WIDTH = 100_000  # columns; keeps each row on one line for programs that read a table
GAP = "  "  # between columns, and before what stands below a row
LEAST = 32  # columns of the screen that a folded text needs
LINES = 4  # of a folded cell, about; longer texts stand below their row
WORD = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d\S*|\S+")
NUMBER = re.compile(r"[-+$]?[\d,.]+%?")


def terminal_width() -> int:
    """Return the columns of the terminal, or of a line that is never folded."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPE_WIDTH


def rendered(head: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> Iterator[str]:
    """Yield the lines of a table with ``head`` as its headings; ``rows`` have a cell for each."""
    natural = [max(map(_longest, column)) for column in zip(head, *rows, strict=True)]
    inline, below = _placed(natural, width)
    rights = {n for n in inline if all(NUMBER.fullmatch(row[n] or "0") for row in rows)}
    yield from _row(head, inline, rights)
    for row in rows:
        yield from _row(row, inline, rights)
        for number in below:
            if row[number]:
                text = f"{head[number]}: {row[number]}"
                yield from (f"{GAP}{line}" for line in folded(text, max(width - len(GAP), 1)))


def folded(text: str, width: int) -> list[str]:
    """Break a text at words into lines of at most ``width`` columns of the screen."""
    lines = []
    line = ""
    for found in WORD.findall(text):
        word = found
        if line and cell_len(line) + 1 + cell_len(word) > width:
            lines.append(line)
            line = ""
        while cell_len(word) > width:
            start = set_cell_size(word, width).rstrip() or word[:1]
            lines.append(start)
            word = word[len(start) :]
        line = f"{line} {word}" if line else word
    return [*lines, line]


def _placed(natural: Sequence[int], width: int) -> tuple[dict[int, int], list[int]]:
    """Return the widths of the columns of a row, and the columns that stand below it."""
    inline = dict(enumerate(natural))
    below: list[int] = []
    while (over := sum(inline.values()) + len(GAP) * (len(inline) - 1) - width) > 0:
        first, *others = inline
        widest = max(inline, key=inline.__getitem__)
        room = inline[widest] - over
        if not others or room >= max(LEAST, inline[widest] // LINES):
            inline[widest] = max(room, 1)
            break
        foldable = widest != first and inline[widest] > LEAST
        below.append(widest if foldable else others[-1])
        del inline[below[-1]]
    return inline, sorted(below)


def _row(row: Sequence[str], widths: dict[int, int], rights: set[int]) -> Iterator[str]:
    cells = {n: folded(row[n], width) for n, width in widths.items()}
    for index in range(max(map(len, cells.values()))):
        parts = []
        for number, lines in cells.items():
            text = lines[index] if index < len(lines) else ""
            space = " " * (widths[number] - cell_len(text))
            parts.append(space + text if number in rights else text + space)
        yield GAP.join(parts).rstrip()


def _longest(text: str) -> int:
    return cell_len(" ".join(text.split()))
