"""The settings: agents.json in plain words, the newest changes of all texts, and the machine."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import htpy as h
from pydantic import JsonValue

from orchestrator.control.editing import FILE_UNDO, FileVersion
from orchestrator.control.roles import Right
from orchestrator.extensions.page import edit_calls
from orchestrator.extensions.page.edit_forms import agents_schema
from orchestrator.extensions.page.edit_forms.agents_schema import AGENTS_FILE
from orchestrator.extensions.page.edit_forms.part_words import name_part
from orchestrator.extensions.page.html import figures
from orchestrator.extensions.page.html.edit_report import render_saved_note, was_just_saved
from orchestrator.extensions.page.html.forms import (
    build_link,
    render_act_button,
)
from orchestrator.extensions.page.html.outside_text import (
    show_hidden_characters,
    strip_terminal_codes,
)
from orchestrator.extensions.page.html.tables import ACTIONS, TableColumn, render_table
from orchestrator.extensions.page.html.vocabulary import (
    render_blank,
    render_link_button,
    render_note,
    render_panel,
)
from orchestrator.extensions.page.screen_request import (
    PageScreen,
    ScreenRequest,
    ScreenResult,
    TitledContent,
)
from orchestrator.extensions.page.screens.machine_state import render_orders
from orchestrator.extensions.page.screens.settings_form import (
    build_form_link,
)
from orchestrator.extensions.page.screens.text_editor import build_text_link
from orchestrator.extensions.page.screens.text_history import render_changes
from orchestrator.extensions.page.setup_answers import BACKUP_MAKE, DAEMON_RESTART, DoneSentence

SHOWN_CHANGES = 10
METHODS = {"backup": BACKUP_MAKE, "restart": DAEMON_RESTART}
HELD = {  # collections of agents.json, with what is said where they are empty
    "agents": "no agent",
    "bindings": "no chat is bound; the fallback agent answers all",
    "mcpServers": "no server; the built-in tools are there",
    "providers": "only the known ones",
    "models": "none named",
    "prices": "only the known ones",
}
TITLES = {
    "agents": "Agents",
    "bindings": "Who answers",
    "mcpServers": "Tool servers",
    "providers": "Providers",
    "models": "Models",
    "prices": "Prices",
}


MAX_LINKS = 50  # entries of one kind


class PartRow(NamedTuple):
    """What stands in a row of the overview."""

    name: str
    words: h.Node
    action: h.Node


NAMELESS = TableColumn("", "id")  # what stands in it says itself what it is
CHANNELS = ("telegram", "web", "api", "mcp", "hook", "console")


@edit_calls.need_daemon
async def _show_settings(request: ScreenRequest) -> ScreenResult:
    done = ""
    method = METHODS.get(request.form.get("do", ""))
    if method is not None:
        answer = await edit_calls.ask_extension(request, method, None, DoneSentence)
        done = answer.text
        if answer.path:
            done = f"The backup is on the daemon's machine at {answer.path}: {done}"
    file = await edit_calls.read_text(request, AGENTS_FILE)
    history = await edit_calls.load_history(request)
    value: JsonValue = None
    line = 0
    try:
        value = json.loads(file.text)
    except json.JSONDecodeError as error:
        line = error.lineno
    except (RecursionError, ValueError):
        pass
    changes = [one for one in history.versions if one.number > 1]  # the first is as it was found
    return render_settings(request, value, changes[:SHOWN_CHANGES], done, line)


def render_settings(
    request: ScreenRequest,
    value: JsonValue,
    changes: Sequence[FileVersion],
    done: str = "",
    line: int = 0,
) -> TitledContent:
    """Render the overview; without a ``value`` the file is no JSON. ``done`` was just done.

    ``line`` is where it stops being JSON, 0 where that is unknown.
    """
    edits = request.has_right(Right.CHANGE)
    newest = changes[0] if changes and was_just_saved(request) else None
    return TitledContent(
        "Settings",
        [
            render_saved_note(request, newest, "/settings") if newest else None,
            h.div(data_kept=request.form.get("do") != "restart" or None)[
                render_note(strip_terminal_codes(done))
            ]
            if done
            else None,
            render_note(
                f"agents.json is no JSON{f' from line {line} on' if line else ''}, so the version"
                " before it still runs. ",
                h.a(href=build_link("texts", AGENTS_FILE, line=line or None))["Correct it ▸"],
                kind="bad",
            )
            if value is None
            else h.div(class_="grid")[
                render_panel(
                    "Agents and tools",
                    _render_parts("Agents and tools", _iter_held_rows(value), edits=edits),
                ),
                render_panel(
                    "Channels and the journal",
                    _render_parts("Channels", _iter_channel_rows(value), edits=edits),
                ),
            ],
            render_panel(
                "Newest changes",
                render_changes(request, changes, name=True)
                if changes
                else render_blank("Nothing was changed yet.", icon="undo"),
                id="changes",
                actions=render_act_button(request, FILE_UNDO, {}, "Undo the newest")
                if changes and edits
                else None,
            ),
            _render_machine(request) if edits else None,
        ],
        actions=[
            render_link_button("Set up", "/setup"),
            render_link_button("Edit agents.json", build_text_link(AGENTS_FILE), icon="edit"),
            render_link_button("Keys", "/keys", icon="keys"),
        ],
    )


def _render_parts(caption: str, rows: Iterable[PartRow], *, edits: bool) -> h.Node:
    return render_table(
        caption,
        (NAMELESS, TableColumn("", "grow"), ACTIONS),
        ((row.name, row.words, row.action if edits else None) for row in rows),
    )


def _iter_held_rows(value: JsonValue) -> Iterator[PartRow]:
    for name, empty in HELD.items():
        held = agents_schema.find_value(value, (name,))
        yield PartRow(
            TITLES[name],
            _render_held(name, held) or h.span(class_="soft")[empty],
            render_link_button("Add", build_form_link(name, new=1), icon="add"),
        )
    fallback = agents_schema.find_value(value, ("fallbackAgentId",))
    yield PartRow(
        "Other chats",
        f"{show_hidden_characters(str(fallback))} answers them" if fallback else "refused",
        h.a(href=build_text_link(AGENTS_FILE))["as text"],
    )


def _iter_channel_rows(value: JsonValue) -> Iterator[PartRow]:
    channels = agents_schema.find_value(value, ("channels",))
    known = [*CHANNELS, *(one for one in (channels if isinstance(channels, dict) else {}))]
    for name in dict.fromkeys(known):
        channel = agents_schema.find_value(channels, (name,))
        yield PartRow(
            name_part(("channels", name), None),
            _describe_channel(channel),
            render_link_button("Edit", build_form_link("channels", name), icon="edit"),
        )
    kept = agents_schema.find_value(value, ("retention",))
    yield PartRow(
        name_part(("retention",), None),
        "as usual" if not isinstance(kept, dict) else f"{len(kept)} values of its own",
        render_link_button("Edit", build_form_link("retention"), icon="edit"),
    )


def _render_held(name: str, held: JsonValue) -> h.Node:
    if isinstance(held, dict):
        return _render_links([(key, build_form_link(name, key)) for key in held])
    if not isinstance(held, list) or not held:
        return None
    if name == "agents":
        ids = [str(agents_schema.find_value(one, ("agentId",))) for one in held]
        return _render_links([(one, build_link("agents", one)) for one in ids], "/agents")
    words = [name_part((name, number), one) for number, one in enumerate(held)]
    return _render_links(
        [
            (text.partition(" ")[2], build_form_link(name, number))
            for number, text in enumerate(words)
        ]
    )


def _render_links(
    links: Sequence[tuple[str, str]], rest: str = build_text_link(AGENTS_FILE)
) -> h.Node:
    """Render links, or the first ones and a link to the ``rest``."""
    if not links:
        return None
    shown = links[:MAX_LINKS]
    if more := len(links) - len(shown):
        shown = [*shown, (f"and {more:,} more", rest)]
    return h.ul(class_="chips")[
        (h.li[h.a(href=href, class_="chip")[show_hidden_characters(text)]] for text, href in shown)
    ]


def _describe_channel(channel: JsonValue) -> h.Node:
    if not isinstance(channel, dict):
        return h.span(class_="soft")["as usual"]
    if channel.get("enabled") is False:
        return figures.render_state("off")
    access = channel.get("access")
    words = {"open": "everyone may write", "allowlist": "only those on its list may write"}
    accounts = channel.get("accounts")
    more = f"{len(accounts)} more bots" if isinstance(accounts, dict) and accounts else ""
    own = words.get(str(access), "who has an approved code may write") if access else ""
    return ", ".join(filter(None, (own, more))) or f"{len(channel)} values of its own"


def _render_machine(request: ScreenRequest) -> h.Element:
    return render_panel(
        "The daemon",
        h.p(class_="soft")[
            "A backup holds all but the keys. Edited files are read by themselves; after a restart"
            " everything goes on where it was. System says since when it runs."
        ],
        h.div(class_="row")[render_orders(request)],
    )


SCREENS = (
    PageScreen(
        "/settings",
        "Settings",
        Right.READ,
        _show_settings,
        "Settings",
        from_journal=False,
        posts=True,
    ),
)
