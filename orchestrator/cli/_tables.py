"""Tables and JSON on stdout."""

from collections.abc import Iterable, Mapping, Sequence

import typer
from pydantic import BaseModel
from pydantic_core import to_json

from orchestrator.cli._columns import rendered, terminal_width
from orchestrator.cli._output import escaped, printable


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

    None becomes an empty cell, and a column without any text is left out. What does not fit on the
    terminal is folded at words, or stands below its row. Programs get each row on one line.
    """
    body = [["" if cell is None else printable(str(cell)).strip() for cell in row] for row in rows]
    if not body:
        return False
    used = [number for number in range(len(columns)) if any(row[number] for row in body)]
    shown = [[row[number] for number in used] for row in body]
    typer.secho(title, bold=True)
    for line in rendered([columns[number] for number in used], shown, terminal_width()):
        typer.echo(line)
    typer.echo()
    return True
