"""Tables, lists of facts, and what stands where there is nothing."""

from collections.abc import Iterable, Mapping, Sequence

import htpy as h


def table(
    caption: str, heads: Sequence[str], rows: Iterable[Sequence[h.Node]], empty: str = ""
) -> h.Node:
    """Return a table in a box that scrolls by itself; ``empty`` is said where it has no rows.

    A head that begins with ``#`` stands over numbers.
    """
    listed = [list(row) for row in rows]
    if not listed:
        return h.p(class_="empty")[empty] if empty else None
    return h.div(class_="scroll", tabindex="0", role="region", aria_label=caption)[
        h.table[
            h.caption[caption],
            h.thead[h.tr[map(_head, heads)]],
            h.tbody[
                (
                    h.tr[
                        (
                            h.td(class_=_kind(head))[cell]
                            for head, cell in zip(heads, row, strict=True)
                        )
                    ]
                    for row in listed
                )
            ],
        ]
    ]


def facts(values: Mapping[str, h.Node]) -> h.Element:
    """Return names with their values; a value of None is left out."""
    return h.dl(class_="facts")[
        (h.div[h.dt[name], h.dd[value]] for name, value in values.items() if value is not None)
    ]


def panel(title: str, *content: h.Node, id: str | None = None) -> h.Element:  # noqa: A002 - HTML's name
    """Return a part of a screen with a heading."""
    return h.section(id=id, class_="panel")[h.h2[title], content]


def _head(head: str) -> h.Element:
    if not head:
        return h.td
    return h.th(scope="col", class_=_kind(head))[head.lstrip("#")]


def _kind(head: str) -> str | None:
    return "number" if head.startswith("#") else None
