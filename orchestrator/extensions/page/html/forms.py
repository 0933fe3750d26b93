"""Forms: every change is a form sent to `/act`, even without scripts."""

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias
from urllib.parse import quote, urlencode

import htpy as h

from orchestrator.extensions.page.html.icons import render_icon
from orchestrator.extensions.page.html.vocabulary import render_field
from orchestrator.extensions.page.screen_request import ScreenRequest

MAX_SECRET = 8000  # characters; keys that are signed documents have a few thousand
# What one came to do, what one may do, and what cannot be undone.
ButtonKind: TypeAlias = Literal["do", "quiet", "danger"]


def build_link(*parts: str, **query: str | int | None) -> str:
    """Build an address from quoted path parts and a query; None omits a value."""
    path = "/" + "/".join(quote(part, safe="") for part in parts)
    wanted = {name.rstrip("_"): value for name, value in query.items() if value not in (None, "")}
    return f"{path}?{urlencode(wanted)}" if wanted else path


def render_act_button(
    request: ScreenRequest,
    method: str,
    fields: Mapping[str, str],
    label: str,
    *,
    kind: ButtonKind = "quiet",
    note_label: str | None = None,
    key: str | None = None,
    leaves: bool = False,
) -> h.Node:
    """Render a button that calls a method with fields.

    ``note_label`` adds a text field ``note`` with this label; ``key`` presses the button.
    ``leaves`` says that the screen is opened anew, or the one at the field ``back``.
    """
    if request.daemon is None:
        return None
    return h.form(method="post", action=f"/act/{method}", class_="row" if leaves else "act")[
        render_hidden_fields(request, fields),
        None
        if note_label is None
        else h.input(name="note", maxlength="500", aria_label=note_label, placeholder=note_label),
        render_button(label, kind, key=key),
    ]


def render_asking_button(
    request: ScreenRequest, method: str, fields: Mapping[str, str], label: str, question: str
) -> h.Node:
    """Render a button for what cannot be undone: it asks first, and a second one does it.

    Afterwards the screen is opened anew, or the one at the field ``back``.
    """
    if request.daemon is None:
        return None
    sure = f"Yes, {label[0].lower()}{label[1:]}"
    return h.details(class_="act")[
        h.summary[label],
        h.p[question],
        render_act_button(request, method, fields, sure, kind="danger", leaves=True),
    ]


def render_button(
    label: h.Node, kind: ButtonKind = "quiet", *, icon: str = "", key: str | None = None
) -> h.Element:
    """Render the button that sends its form; ``key`` presses it."""
    return h.button(class_=None if kind == "quiet" else kind, data_key=key)[
        render_icon(icon) if icon else None, label
    ]


def render_secret_field(
    label: str, name: str, account: str, help_text: h.Node = None, *, required: bool = True
) -> h.Node:
    """Render a labelled field for a secret, which is never filled in; ``account`` says whose it is.

    Browsers want to know that, before the secret and outside its label; it is not sent.
    """
    secret = h.input(
        name=name,
        type="password",
        required=required,
        maxlength=str(MAX_SECRET),
        autocomplete="new-password",
    )
    return [
        h.input(type="text", autocomplete="username", value=account, hidden=True, readonly=True),
        render_field(label, secret, help_text),
    ]


def render_hidden_fields(request: ScreenRequest, fields: Mapping[str, str] = {}) -> h.Node:
    """Render the hidden fields that every form has, and ``fields``."""
    every = {"csrf": request.csrf, "once": request.once(), "back": request.at, **fields}
    return [h.input(type="hidden", name=name, value=value) for name, value in every.items()]


def render_filters(request: ScreenRequest, fields: Sequence[tuple[str, str]]) -> h.Element:
    """Render a row of text filters, kept in the address; ``fields`` are names with labels."""
    return h.form(method="get", class_="filters", role="search")[
        [
            h.label[h.span[label], h.input(name=name, value=request.query.get(name, ""))]
            for name, label in fields
        ],
        render_button("Show"),
    ]
