"""Forms: every change is one that is sent to `/act`, also without a script."""

from collections.abc import Mapping, Sequence
from urllib.parse import quote, urlencode

import htpy as h

from orchestrator.page.visit import Visit


def link(*parts: str, **query: str | int | None) -> str:
    """Return the address of path parts with a query, all quoted; None leaves a value out."""
    path = "/" + "/".join(quote(part, safe="") for part in parts)
    wanted = {name.rstrip("_"): value for name, value in query.items() if value not in (None, "")}
    return f"{path}?{urlencode(wanted)}" if wanted else path


def act(
    visit: Visit,
    method: str,
    fields: Mapping[str, str],
    label: str,
    *,
    danger: bool = False,
    asks: str | None = None,
    key: str | None = None,
) -> h.Node:
    """Return a button that calls a method with fields.

    ``asks`` is the label of a field ``note`` beside it, ``key`` the letter that presses it.
    """
    if visit.daemon is None:
        return None
    return h.form(method="post", action=f"/act/{method}", class_="act")[
        hidden(visit, fields),
        None if asks is None else h.label[h.span[asks], h.input(name="note", maxlength="500")],
        h.button(class_="danger" if danger else None, data_key=key)[label],
    ]


def hidden(visit: Visit, fields: Mapping[str, str] = {}) -> h.Node:
    """Return the fields that every form has, and some more."""
    every = {"csrf": visit.csrf, "once": visit.once(), "back": visit.at, **fields}
    return [h.input(type="hidden", name=name, value=value) for name, value in every.items()]


def filters(visit: Visit, fields: Sequence[tuple[str, str]]) -> h.Element:
    """Return a row of text filters, each a name and a label, which stand in the address."""
    return h.form(method="get", class_="filters", role="search")[
        [
            h.label[h.span[label], h.input(name=name, value=visit.query.get(name, ""))]
            for name, label in fields
        ],
        h.button["Show"],
    ]
