"""Tables and JSON on stdout. A module of its own because rich is slow to import."""

from collections.abc import Iterable, Mapping, Sequence

import typer
from pydantic import BaseModel
from pydantic_core import to_json
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from orchestrator.cli._output import escaped, printable

PIPE_WIDTH = 1000  # columns; keeps each row on one line for programs that read a table


def listing(
    report: BaseModel | Mapping[str, object],
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    empty: str,
    as_json: bool,
) -> None:
    """Print a report as JSON or as a table; print ``empty`` when the table has no rows."""
    if as_json:
        print_json(report)
    elif not table(title, columns, rows):
        typer.echo(empty)


def print_json(report: BaseModel | Mapping[str, object]) -> None:
    typer.echo(escaped(to_json(report, by_alias=True, indent=2).decode()))


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> bool:
    """Print a table and return True; without rows print nothing and return False.

    None becomes an empty cell.
    """
    headings = [Column(name, overflow="fold") for name in columns]
    grid = Table(*headings, title=title, title_justify="left", box=None, pad_edge=False)
    for row in rows:
        grid.add_row(*(Text("" if cell is None else printable(str(cell))) for cell in row))
    if grid.row_count:
        console = Console()
        if not console.is_terminal:
            console.width = PIPE_WIDTH
        console.print(grid, Text())
    return bool(grid.row_count)
