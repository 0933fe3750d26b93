"""Tables on stdout."""

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from orchestrator.cli.text import printable

PIPE_WIDTH = 1000  # columns; a program that reads a table wants each row on one line


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table to stdout; nothing when it has no rows. None is an empty cell."""
    heads = [Column(name, overflow="fold") for name in columns]
    grid = Table(*heads, title=title, title_justify="left", box=None, pad_edge=False)
    for row in rows:
        grid.add_row(*(Text("" if cell is None else printable(str(cell))) for cell in row))
    if grid.row_count:
        console = Console()
        if not console.is_terminal:
            console.width = PIPE_WIDTH
        console.print(grid, Text())
