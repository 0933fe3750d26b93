"""Tables that fit a terminal, and JSON, on stdout.

Dates, ids and numbers are never split. The widest column is folded at words if that leaves it room;
otherwise it is printed below each row, so that a narrow terminal shows a list.
"""

import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from orchestrator.cli.output import escape_hidden, make_printable, write_line
from orchestrator.control.daemon_answer import JsonRecord

if TYPE_CHECKING:
    from pydantic import BaseModel

PIPE_WIDTH = 100_000  # columns; keeps each row on one line for programs that read a table
GAP = "  "  # between columns, and before what is printed below a row
MIN_FOLDED = 32  # columns of the screen that a folded text needs
MAX_LINES = 4  # of a folded cell, about; longer text stands below its row
WORD = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d\S*|\S+")
NUMBER = re.compile(r"[-+$]?[\d,.]+%?")


Column = str | Callable[[Any], object]  # an attribute of a record, or a function of it
Columns = Mapping[str, Column]  # keyed by heading


def print_listing(
    title: str,
    records: Sequence[object],
    columns: Columns,
    *,
    key: str,
    empty: str,
    as_json: bool,
    describe: Callable[[Any], object] | None = None,
) -> None:
    """Print records as a table, or as JSON under ``key``; print ``empty`` if there are none.

    The JSON of a record is the record itself if it is a model, the result of ``describe``, or an
    object with all its fields.
    """
    if as_json:
        print_json({key: [(describe or _describe)(record) for record in records]})
    elif not print_records(title, records, columns):
        write_line(empty)


def print_records(title: str, records: Iterable[object], columns: Columns) -> bool:
    """Print a table of records as `print_table` does."""
    cells = [attrgetter(one) if isinstance(one, str) else one for one in columns.values()]
    rows = ([cell(record) for cell in cells] for record in records)
    return print_table(title, tuple(columns), rows)


def describe_record(
    record: Any,  # noqa: ANN401 - a dataclass or a named tuple
    names: Iterable[str] = (),
    *,
    renamed: Mapping[str, str] = MappingProxyType({}),
    **changed: object,
) -> dict[str, object]:
    """Return a record's fields, all or only ``names``, keyed by JSON name.

    ``renamed`` maps fields to other names; ``changed`` has other values, keyed by those names.
    """
    from pydantic.alias_generators import to_camel  # noqa: PLC0415 - slow, as above

    found = {}
    for name in names or getattr(record, "_fields", None) or (one.name for one in fields(record)):
        shown = renamed.get(name, name)
        found[to_camel(shown)] = changed[shown] if shown in changed else getattr(record, name)
    return found


def print_json(report: "BaseModel | Mapping[str, object]", *, indent: int | None = 2) -> None:
    """Print a report as JSON; its line ends are the only invisible characters."""
    if isinstance(report, JsonRecord):
        text = report.to_json(indent)
    else:
        from pydantic_core import to_json  # noqa: PLC0415 - slow, and `quick` has plain JSON

        text = to_json(report, by_alias=True, indent=indent).decode()
    write_line(escape_hidden(text))


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> bool:
    """Print a table and return True; without rows print nothing and return False.

    None becomes an empty cell, and a column without any text is left out. What does not fit on the
    terminal is folded at words, or printed below its row. Programs get each row on one line.
    """
    body = [
        ["" if cell is None else make_printable(str(cell)).strip() for cell in row] for row in rows
    ]
    if not body:
        return False
    used = [number for number in range(len(columns)) if any(row[number] for row in body)]
    shown = [[row[number] for number in used] for row in body]
    write_line(f"\x1b[1m{title}\x1b[0m" if sys.stdout.isatty() else title)
    for line in render_table([columns[number] for number in used], shown, get_terminal_width()):
        write_line(line)
    write_line()
    return True


def get_terminal_width() -> int:
    """Return the columns of the terminal, or of a line that is never folded."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPE_WIDTH


def render_table(head: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> Iterator[str]:
    """Yield the lines of a table with the headings ``head``."""
    natural = [max(map(_measure_cell, column)) for column in zip(head, *rows, strict=True)]
    inline, below = _fit_columns(natural, width)
    rights = {n for n in inline if all(NUMBER.fullmatch(row[n] or "0") for row in rows)}
    yield from _render_row(head, inline, rights)
    for row in rows:
        yield from _render_row(row, inline, rights)
        for number in below:
            if row[number]:
                text = f"{head[number]}: {row[number]}"
                yield from (f"{GAP}{line}" for line in fold_text(text, max(width - len(GAP), 1)))


def fold_text(text: str, width: int) -> list[str]:
    """Break text at words into lines of at most ``width`` columns."""
    lines = []
    line = ""
    for found in WORD.findall(text):
        word = found
        if line and measure_text(line) + 1 + measure_text(word) > width:
            lines.append(line)
            line = ""
        while measure_text(word) > width:
            from rich.cells import set_cell_size  # noqa: PLC0415 - as in `measure_text`

            start = set_cell_size(word, width).rstrip() or word[:1]
            lines.append(start)
            word = word[len(start) :]
        line = f"{line} {word}" if line else word
    return [*lines, line]


def measure_text(text: str) -> int:
    """Return the columns of a screen that a line of text fills."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # noqa: PLC0415 - slow, and seldom needed

    return cell_len(text)


def _fit_columns(natural: Sequence[int], width: int) -> tuple[dict[int, int], list[int]]:
    """Return the widths of the columns in a row, and the columns printed below it."""
    inline = dict(enumerate(natural))
    below: list[int] = []
    while (over := sum(inline.values()) + len(GAP) * (len(inline) - 1) - width) > 0:
        first, *others = inline
        widest = max(inline, key=inline.__getitem__)
        room = inline[widest] - over
        if not others or room >= max(MIN_FOLDED, inline[widest] // MAX_LINES):
            inline[widest] = max(room, 1)
            break
        foldable = widest != first and inline[widest] > MIN_FOLDED
        below.append(widest if foldable else others[-1])
        del inline[below[-1]]
    return inline, sorted(below)


def _render_row(row: Sequence[str], widths: dict[int, int], rights: set[int]) -> Iterator[str]:
    cells = {n: fold_text(row[n], width) for n, width in widths.items()}
    for index in range(max(map(len, cells.values()))):
        parts = []
        for number, lines in cells.items():
            text = lines[index] if index < len(lines) else ""
            space = " " * (widths[number] - measure_text(text))
            parts.append(space + text if number in rights else text + space)
        yield GAP.join(parts).rstrip()


def _measure_cell(text: str) -> int:
    return measure_text(" ".join(text.split()))


def _describe(record: object) -> object:
    return record if hasattr(record, "model_dump_json") else describe_record(record)
