"""The list of turns, with filters that stand in the address."""

from collections.abc import Iterator

import htpy as h

from orchestrator.control.page_access import Right
from orchestrator.journal.inspect import turn_search
from orchestrator.journal.inspect.turn_search import FoundTurn, TurnPage
from orchestrator.page.html import figures
from orchestrator.page.html.forms import filters, link
from orchestrator.page.html.outside_text import short, visible
from orchestrator.page.html.tables import table
from orchestrator.page.visit import Screen, Shown, Visit
from thinker.protocol.names import chat_name

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
    "When",
    "Agent",
    "Chat",
    "Asked",
    "State",
    "#Steps",
    "Tools",
    "#Took",
    "#Tokens",
    "#Cost",
    "Marks",
)


async def _body(visit: Visit) -> Shown:
    reads = visit.may(Right.READ)
    wanted = {
        name: visit.query.get(name, "") for name in turn_search.FILTERS if reads or name != "text"
    }
    found = await visit.journal(turn_search.find, wanted, visit.query.get("before"))
    return draw(visit, found, filtered=any(wanted.values()))


def draw(visit: Visit, found: TurnPage, *, filtered: bool) -> h.Node:
    """Draw the list."""
    names = [
        (name, label) for name, label in LABELS.items() if name != "text" or visit.may(Right.READ)
    ]
    query = {name: visit.query.get(name) for name, _ in names}
    older = link("turns", **query, before=found.before)
    return [
        filters(visit, names),
        table(
            "Turns",
            HEADS,
            (_row(visit, turn) for turn in found.turns),
            "No turn fits." if filtered else "No message yet.",
        ),
        h.p(class_="soft")[
            figures.many(len(found.turns), "turn"),
            f" of the {figures.count(found.looked_at)} newest that were looked at"
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


def _row(visit: Visit, turn: FoundTurn) -> tuple[h.Node, ...]:
    address = link("turns", turn.id)
    asked = short(turn.asked, 80) if visit.may(Right.READ) else f"{len(turn.asked)} characters"
    return (
        h.a(href=address, data_row=True)[figures.moment(turn.began, visit.zone)],
        visible(turn.agent_id),
        short(chat_name(turn.chat_key), 30),
        asked,
        figures.outcome(turn.state, turn.stop_reason),
        str(turn.steps),
        ", ".join(map(visible, dict.fromkeys(turn.tools))),
        "" if turn.ended is None else figures.span(turn.ended - turn.began),
        tokens(turn),
        figures.usd(turn.usd),
        ", ".join(marks(turn)),
    )


def tokens(turn: FoundTurn) -> str:
    """Say how many tokens a turn used, and which part of them a cache had."""
    share = f" ({100 * turn.cached // turn.tokens} % cached)" if turn.cached and turn.tokens else ""
    return f"{figures.tokens(turn.tokens)}{share}"


def marks(turn: FoundTurn) -> Iterator[str]:
    """Say what was unusual in a turn."""
    if turn.deaths:
        yield "↻ went on after a death"
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


SCREENS = (Screen("/turns", "Turns", Right.LOOK, _body, "Turns"),)
