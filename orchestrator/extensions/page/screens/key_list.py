"""The keys: which are set, from where, and what needs them; never their values."""

from collections.abc import Sequence

import htpy as h

from orchestrator.control.roles import Right
from orchestrator.extensions.page import edit_calls
from orchestrator.extensions.page.html import figures
from orchestrator.extensions.page.html.forms import (
    build_link,
    render_asking_button,
    render_button,
    render_hidden_fields,
    render_secret_field,
)
from orchestrator.extensions.page.html.outside_text import show_hidden_characters
from orchestrator.extensions.page.html.tables import ACTIONS, TableColumn, render_table
from orchestrator.extensions.page.html.vocabulary import (
    render_blank,
    render_field,
    render_note,
    render_panel,
)
from orchestrator.extensions.page.screen_request import (
    PageScreen,
    ScreenRequest,
    ScreenResult,
    TitledContent,
)
from orchestrator.extensions.page.setup_answers import (
    KEYS_LIST,
    KEYS_REMOVE,
    KEYS_SET,
    KeyUse,
    KnownKeys,
)

KEPT_IN = "keys.env"
DONE = {
    "set": "The key was written to keys.env; what needs it uses it from now on.",
    "removed": "The key was removed from keys.env.",
}
HEADS = ("Key", "State", TableColumn("Used by", "grow"), ACTIONS)


@edit_calls.need_daemon
async def _show_keys(request: ScreenRequest) -> ScreenResult:
    found = await edit_calls.ask_extension(request, KEYS_LIST, None, KnownKeys)
    return render_keys(request, found.keys)


def render_keys(request: ScreenRequest, keys: Sequence[KeyUse]) -> TitledContent:
    """Render the keys, those that something needs first."""
    ordered = sorted(keys, key=lambda one: (not one.users, one.name))
    done = DONE.get(request.query.get("done", ""))
    return TitledContent(
        "Keys",
        [
            render_note(done, kind="done") if done else None,
            render_panel(
                "What is set",
                render_table(
                    "Keys",
                    HEADS,
                    ((*_render_key_row(request, one),) for one in ordered),
                    render_blank("No key is set, and nothing needs one yet.", icon="keys"),
                ),
            ),
            render_panel("Set a key", _render_form(request, "", [one.name for one in ordered]))
            if request.has_right(Right.CHANGE)
            else None,
        ],
        lead="Written here, never shown again.",
    )


def _render_key_row(request: ScreenRequest, one: KeyUse) -> Sequence[h.Node]:
    name, edits = show_hidden_characters(one.name), request.has_right(Right.CHANGE)
    state = figures.render_state("off", "not set")
    if one.set or one.users:
        state = figures.render_state(*(("ok", "set") if one.set else ("missed", "missing")))
    own = one.set and one.origin == KEPT_IN
    return (
        h.code[name],
        [state, h.div(class_="soft")[f"in {one.origin}"] if one.origin else None],
        [h.div[show_hidden_characters(user)] for user in one.users]
        or h.span(class_="soft")["nothing"],
        [
            h.details(class_="act")[
                h.summary["Replace" if one.set else "Set"],
                _render_form(request, one.name, ()),
            ],
            render_asking_button(
                request,
                KEYS_REMOVE,
                {"name": one.name, "back": build_link("keys", done="removed")},
                "Remove",
                _ask_to_remove(one),
            )
            if own
            else None,
        ]
        if edits
        else None,
    )


def _ask_to_remove(one: KeyUse) -> str:
    *others, last = map(show_hidden_characters, one.users or ("nothing",))
    named = f"{', '.join(others)} and {last}" if others else last
    told = f"Used by {named}, which cannot work without it." if one.users else "Nothing uses it."
    return f"{told} Remove it?"


def _render_form(request: ScreenRequest, name: str, known: Sequence[str]) -> h.Element:
    """Render the form for a value; without a ``name`` it asks for one, and offers known ones."""
    fields = {"back": build_link("keys", done="set"), **({"name": name} if name else {})}
    return h.form(method="post", action=f"/act/{KEYS_SET}", class_="form", autocomplete="off")[
        render_hidden_fields(request, fields),
        None
        if name
        else render_field(
            "Name",
            [
                h.input(
                    name="name",
                    list="known-keys",
                    required=True,
                    maxlength="200",
                    pattern="[A-Za-z_][A-Za-z0-9_]*",
                    title="Letters, digits and _, such as GROQ_API_KEY",
                    placeholder="GROQ_API_KEY",
                    spellcheck="false",
                    autocomplete="off",
                ),
                h.datalist(id="known-keys")[(h.option(value=one) for one in known)],
            ],
        ),
        render_secret_field("Value", "value", name or "keys.env"),
        h.div(class_="row")[render_button("Write to keys.env", "do")],
    ]


SCREENS = (PageScreen("/keys", "Keys", Right.READ, _show_keys, "Keys", from_journal=False),)
