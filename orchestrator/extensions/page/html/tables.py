"""Tables, lists of facts, and what replaces empty ones."""

from collections.abc import Iterable, Mapping, Sequence

import htpy as h


def render_table(
    caption: str, heads: Sequence[str], rows: Iterable[Sequence[h.Node]], empty: str = ""
) -> h.Node:
    """Render a scrollable table; ``empty`` replaces missing rows.

    A heading that begins with ``#`` is for numbers.
    """
    listed = [list(row) for row in rows]
    if not listed:
        return h.p(class_="empty")[empty] if empty else None
    return h.div(class_="scroll", tabindex="0", role="region", aria_label=caption)[
        h.table[
            h.caption[caption],
            h.thead[h.tr[map(_render_head, heads)]],
            h.tbody[
                (
                    h.tr[
                        (
                            h.td(class_=_get_column_class(head))[cell]
                            for head, cell in zip(heads, row, strict=True)
                        )
                    ]
                    for row in listed
                )
            ],
        ]
    ]


def render_facts(values: Mapping[str, h.Node]) -> h.Element:
    """Render names with values, omitting None."""
    return h.dl(class_="facts")[
        (h.div[h.dt[name], h.dd[value]] for name, value in values.items() if value is not None)
    ]


def render_panel(title: str, *content: h.Node, id: str | None = None) -> h.Element:  # noqa: A002 - HTML's name
    """Render a section of a screen with a heading."""
    return h.section(id=id, class_="panel")[h.h2[title], content]


def _render_head(head: str) -> h.Element:
    if not head:
        return h.td
    return h.th(scope="col", class_=_get_column_class(head))[head.lstrip("#")]


def _get_column_class(head: str) -> str | None:
    return "number" if head.startswith("#") else None
