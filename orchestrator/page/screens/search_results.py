"""What a few characters fit: a turn, a message, an agent, a chat, what was said."""

import htpy as h
from starlette.responses import RedirectResponse

from orchestrator.control.page_access import Right
from orchestrator.journal.inspect import lookup
from orchestrator.journal.inspect.lookup import Findings
from orchestrator.journal.memory.message_search import MessageHit
from orchestrator.page.html import figures
from orchestrator.page.html.forms import link
from orchestrator.page.html.outside_text import short, visible
from orchestrator.page.html.tables import panel
from orchestrator.page.visit import Screen, Shown, Visit
from thinker.protocol.names import chat_name, turn_name

LONGEST = 200  # characters that are looked for


async def _body(visit: Visit) -> Shown:
    wanted = visit.query.get("q", "").strip()[:LONGEST]
    if not wanted:
        return h.p(class_="empty")[
            "Write a turn, a message's number, an agent, a chat, or words that were said."
        ]
    reads = visit.may(Right.READ)
    found = await visit.journal(lambda db: lookup.find(db, wanted, texts=reads))
    only = _only(found)
    return RedirectResponse(only, 303) if only else draw(visit, found, wanted)


def _only(found: Findings) -> str | None:
    """Return the address of the one thing that was found by its name."""
    if found.total == 1 and found.turns:
        return link("turns", found.turns[0])
    if found.total == 1 and found.messages:
        return link("m", str(found.messages[0].id))
    return None


def draw(visit: Visit, found: Findings, wanted: str) -> h.Node:
    """Draw the list of what fits."""
    sections = (
        ("Turns", [_row(link("turns", turn), turn_name(turn), "") for turn in found.turns]),
        (
            "Messages",
            [
                _row(link("m", str(row.id)), f"message {row.id}", row.address().name)
                for row in found.messages
            ],
        ),
        ("Agents", [_row(link("turns", agent=name), name, "its turns") for name in found.agents]),
        (
            "Chats",
            [
                _row(
                    f"/chats/{hit.key}" if visit.may(Right.READ) else link("turns", chat=hit.key),
                    hit.name,
                    hit.sender,
                )
                for hit in found.chats
            ],
        ),
        (
            "What was said",
            [
                _row(
                    _place(hit),
                    short(hit.text, 160),
                    f"{chat_name(hit.chat_key)}, {figures.ago(hit.at, visit.now)}",
                )
                for hit in found.texts
            ],
        ),
    )
    shown = [panel(title, h.ul(class_="calls")[rows]) for title, rows in sections if rows]
    return shown or h.p(class_="empty")[f"Nothing fits “{visible(wanted)}”."]


def _place(hit: MessageHit) -> str:
    """Return the address of what was said: its turn in the chat."""
    turn = hit.turn_id
    return f"/chats/{hit.chat_key}" + (f"?turn={turn}#turn-{turn}" if turn else "")


def _row(address: str, text: str, about: str) -> h.Element:
    return h.li[
        h.a(href=address, data_row=True)[visible(text)],
        [" ", h.small[visible(about)]] if about else None,
    ]


SCREENS = (Screen("/find", "Find", Right.LOOK, _body, ""),)
