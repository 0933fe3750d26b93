"""Tables: the kind of each column decides its width, and narrow windows show rows as cards."""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Literal, NamedTuple, TypeAlias

import htpy as h

# What a column holds: words, an instant, an identifier that may be clipped, a text that takes the
# room that is left, a number, or buttons.
ColumnKind: TypeAlias = Literal["text", "time", "id", "grow", "number", "action"]


class TableColumn(NamedTuple):
    """A column of a table; one for actions needs no name.

    ``href`` sorts by the column, and ``order`` says that the table is sorted by it.
    """

    name: str
    kind: ColumnKind = "text"
    href: str = ""
    order: Literal["", "ascending", "descending"] = ""


ACTIONS = TableColumn("", "action")


def render_table(
    caption: str,
    columns: Sequence[TableColumn | str],
    rows: Iterable[Sequence[h.Node]],
    empty: h.Node = None,
) -> h.Node:
    """Render a table; ``empty`` replaces missing rows. A plain name is a column of words."""
    known = [TableColumn(column) if isinstance(column, str) else column for column in columns]
    listed = iter(rows)  # one at a time: the cells of a large table take megabytes
    first = next(listed, None)
    if first is None:
        return h.p(class_="empty")[empty] if isinstance(empty, str) and empty else empty
    return h.div(class_="scroll", tabindex="0", role="region", aria_label=caption)[
        h.table(class_="cards")[
            h.caption[caption],
            h.thead[h.tr[map(_render_head, known)]] if any(one.name for one in known) else None,
            h.tbody[(h.tr[map(_render_cell, known, row)] for row in chain([first], listed))],
        ]
    ]


def _render_head(column: TableColumn) -> h.Element:
    if not column.name:
        return h.td
    shown: h.Node = column.name
    if column.href:
        arrow = {"ascending": " ▴", "descending": " ▾"}.get(column.order, "")
        shown = h.a(href=column.href, class_="by")[column.name, arrow]
    return h.th(scope="col", class_=column.kind, aria_sort=column.order or None)[shown]


def _render_cell(column: TableColumn, cell: h.Node) -> h.Element:
    return h.td(class_=column.kind, data_label=column.name)[cell]
