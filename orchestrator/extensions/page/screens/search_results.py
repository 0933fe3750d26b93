"""Search results: turns, messages, agents, chats, texts."""

import htpy as h
from starlette.responses import RedirectResponse

from orchestrator.control.roles import Right
from orchestrator.extensions.page.html import figures
from orchestrator.extensions.page.html.forms import build_link
from orchestrator.extensions.page.html.outside_text import (
    find_plain_text,
    shorten_text,
    show_hidden_characters,
)
from orchestrator.extensions.page.html.vocabulary import render_blank, render_note, render_panel
from orchestrator.extensions.page.reads import lookup, stamps
from orchestrator.extensions.page.reads.lookup import SearchMatches
from orchestrator.extensions.page.screen_request import (
    PageScreen,
    ScreenRequest,
    ScreenResult,
    TitledContent,
)
from orchestrator.journal.inspect.message_hits import MessageHit
from thinker.protocol.names import format_chat_name, format_turn_name

MAX_SEARCH = 200  # longest searched text, in characters


async def _show_search(request: ScreenRequest) -> ScreenResult:
    wanted = request.query.get("q", "").strip()[:MAX_SEARCH]
    if not wanted:
        return render_blank(
            "Write a turn, a message's number, an agent, a chat, or words that were said."
        )
    reads = request.has_right(Right.READ)
    found = await lookup.search_journal(request.journal, wanted, texts=reads)
    only = _find_only_address(found)
    return RedirectResponse(only, 303) if only else render_search_results(request, found, wanted)


def _find_only_address(found: SearchMatches) -> str | None:
    """Return the address of the only match by name."""
    if found.cut:
        return None
    if found.total == 1 and found.turns:
        return build_link("turns", found.turns[0])
    if found.total == 1 and found.messages:
        return build_link("m", str(found.messages[0].id))
    return None


def render_search_results(
    request: ScreenRequest, found: SearchMatches, wanted: str
) -> TitledContent:
    """Render the list of matches."""
    number = f"{found.total or 'nothing'}{' or more' if found.is_full else ''}"
    lead = f"{number} for “{show_hidden_characters(wanted)}”"
    return TitledContent("Find", _render_matches(request, found, wanted), lead=lead)


def _render_matches(request: ScreenRequest, found: SearchMatches, wanted: str) -> h.Node:
    sections = (
        (
            "Turns",
            [
                _render_hit(build_link("turns", turn), format_turn_name(turn), "")
                for turn in found.turns
            ],
        ),
        (
            "Messages",
            [
                _render_hit(
                    build_link("m", str(row.id)), f"message {row.id}", row.build_address().name
                )
                for row in found.messages
            ],
        ),
        (
            "Agents",
            [
                _render_hit(build_link("turns", agent=name), name, "its turns")
                for name in found.agents
            ],
        ),
        (
            "Chats",
            [
                _render_hit(
                    f"/chats/{hit.key}"
                    if request.has_right(Right.READ)
                    else build_link("turns", chat=hit.key),
                    hit.name,
                    hit.sender,
                )
                for hit in found.chats
            ],
        ),
        (
            "Said",
            [
                _render_hit(
                    _build_hit_address(hit),
                    shorten_text(find_plain_text(hit.text), 160),
                    f"{format_chat_name(hit.chat_key)}, {figures.format_age(hit.at, request.now)}",
                )
                for hit in found.texts
            ],
        ),
    )
    shown = [render_panel(title, h.ul(class_="items")[rows]) for title, rows in sections if rows]
    if found.cut:
        kinds = ", ".join(found.cut)
        note = f"The search of {kinds} took too long, and was cut off; search for longer words."
        return [render_note(note, kind="warn"), shown]
    return shown or render_blank(f"No matches for “{show_hidden_characters(wanted)}”.")


def _build_hit_address(hit: MessageHit) -> str:
    """Return the address of a message: its turn in the chat."""
    turn = hit.turn_id
    return f"/chats/{hit.chat_key}" + (f"?turn={turn}#turn-{turn}" if turn else "")


def _render_hit(address: str, text: str, about: str) -> h.Element:
    return h.li[
        h.a(href=address, data_row=True)[show_hidden_characters(text)],
        h.div(class_="soft")[show_hidden_characters(about)] if about else None,
    ]


SCREENS = (PageScreen("/find", "Find", Right.LOOK, _show_search, "", stamp=stamps.read_nothing),)
