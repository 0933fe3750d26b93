"""The list of turns, with filters stored in the address."""

from collections.abc import Iterator

import htpy as h

from orchestrator.control.roles import Right
from orchestrator.extensions.page.html import figures
from orchestrator.extensions.page.html.forms import build_link, render_filters
from orchestrator.extensions.page.html.outside_text import shorten_text, show_hidden_characters
from orchestrator.extensions.page.html.tables import TableColumn, render_table
from orchestrator.extensions.page.reads import stamps
from orchestrator.extensions.page.reads.turn_parts import search_turn_parts
from orchestrator.extensions.page.screen_request import PageScreen, ScreenRequest, ScreenResult
from orchestrator.journal.inspect import turn_search
from orchestrator.journal.inspect.turn_search import FoundTurn, TurnPage
from thinker.protocol.names import format_chat_name

LABELS = {
    "agent": "agent",
    "chat": "chat contains",
    "state": "state or end",
    "tool": "tool",
    "model": "model",
    "longer": "longer than (s)",
    "dearer": "dearer than ($)",
    "text": "asked contains",
}
HEADS = (
    TableColumn("When", "time"),
    "Agent",
    "Chat",
    "Asked",
    "State",
    TableColumn("Steps", "number"),
    "Tools",
    TableColumn("Took", "number"),
    TableColumn("Tokens", "number"),
    TableColumn("Cost", "number"),
    "Marks",
)


async def _show_turns(request: ScreenRequest) -> ScreenResult:
    reads = request.has_right(Right.READ)
    wanted = {
        name: request.query.get(name, "") for name in turn_search.FILTERS if reads or name != "text"
    }
    found = await search_turn_parts(request.journal, wanted, request.query.get("before"))
    return render_turns(request, found, filtered=any(wanted.values()))


def render_turns(request: ScreenRequest, found: TurnPage, *, filtered: bool) -> h.Node:
    """Render the list."""
    names = [
        (name, label)
        for name, label in LABELS.items()
        if name != "text" or request.has_right(Right.READ)
    ]
    query = {name: request.query.get(name) for name, _ in names}
    older = build_link("turns", **query, before=found.before)
    return [
        render_filters(request, names),
        render_table(
            "Turns",
            HEADS,
            (_render_turn_row(request, turn) for turn in found.turns),
            "No matching turns." if filtered else "No messages yet.",
        ),
        h.p(class_="soft")[
            figures.format_plural(len(found.turns), "turn"),
            f" of the {figures.format_count(found.looked_at)} newest that were looked at"
            if filtered
            else None,
            [" · ", h.a(href=older)["older ▸"]] if found.before else None,
        ],
        h.p(class_="soft")[
            "In a terminal: ",
            h.code["orchestrator status"],
            " and ",
            h.code["orchestrator trace TURN"],
        ],
    ]


def _render_turn_row(request: ScreenRequest, turn: FoundTurn) -> tuple[h.Node, ...]:
    address = build_link("turns", turn.id)
    asked = (
        shorten_text(turn.asked, 80)
        if request.has_right(Right.READ)
        else f"{len(turn.asked)} characters"
    )
    return (
        h.a(href=address, data_row=True)[figures.render_moment(turn.began, request.zone)],
        show_hidden_characters(turn.agent_id),
        shorten_text(format_chat_name(turn.chat_key), 30),
        asked,
        figures.render_turn_outcome(turn.state, turn.stop_reason),
        str(turn.steps),
        ", ".join(map(show_hidden_characters, dict.fromkeys(turn.tools))),
        "" if turn.ended is None else figures.format_span(turn.ended - turn.began),
        format_turn_tokens(turn),
        figures.format_usd(turn.usd),
        ", ".join(describe_turn_marks(turn)),
    )


def format_turn_tokens(turn: FoundTurn) -> str:
    """Format a turn's tokens, with the share read from a cache."""
    share = f" ({100 * turn.cached // turn.tokens} % cached)" if turn.cached and turn.tokens else ""
    return f"{figures.format_tokens(turn.tokens)}{share}"


def describe_turn_marks(turn: FoundTurn) -> Iterator[str]:
    """Describe what was unusual in a turn."""
    if turn.deaths:
        yield "↻ continued after a crash"
    if turn.approvals:
        yield "◐ asked a person"
    if turn.unconfirmed:
        yield "? unconfirmed call"
    if turn.repaired:
        yield "≈ answer repaired"
    if turn.recipe == "proactive":
        yield "☾ by schedule"
    if turn.recipe == "hook":
        yield "↯ by webhook"


SCREENS = (
    PageScreen(
        "/turns",
        "Turns",
        Right.LOOK,
        _show_turns,
        "Turns",
        stamp=stamps.read_newest_work,
        when_cut="Look for less: an agent or a chat alone is found fastest.",
    ),
)
