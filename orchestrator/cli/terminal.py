"""How commands print: plain text that cannot drive the terminal, and tables."""

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

PIPE_WIDTH = 1000  # columns; a program that reads a table wants each row on one line


def printable(text: str) -> str:
    """The text without control characters: what models and strangers write is only shown.

    Line ends and tabs stay.
    """
    return "".join(
        char if char.isprintable() or char in "\n\t" else "\N{REPLACEMENT CHARACTER}"
        for char in text
    )


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table to stdout; nothing when it has no rows. None is an empty cell."""
    heads = [Column(name, overflow="fold") for name in columns]
    grid = Table(*heads, title=title, title_justify="left", box=None, pad_edge=False)
    for row in rows:
        grid.add_row(*(Text("" if cell is None else printable(str(cell))) for cell in row))
    if grid.row_count:
        console = Console()
        width = None if console.is_terminal else PIPE_WIDTH
        console.print(grid, Text(), width=width, no_wrap=width is not None, crop=False)


def count(number: int, noun: str) -> str:
    """``no errors``, ``1 error``, ``2 errors``."""
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"
