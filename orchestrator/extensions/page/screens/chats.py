"""Chats: their list, and one of them with its composer."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from secrets import token_hex
from typing import NamedTuple

import htpy as h
from starlette.responses import RedirectResponse

from orchestrator.control.roles import Right
from orchestrator.extensions.page.html import figures
from orchestrator.extensions.page.html.forms import build_link
from orchestrator.extensions.page.html.icons import render_icon
from orchestrator.extensions.page.html.layout import render_split
from orchestrator.extensions.page.html.outside_text import (
    find_plain_text,
    shorten_text,
    show_hidden_characters,
)
from orchestrator.extensions.page.html.vocabulary import (
    render_blank,
    render_link_button,
    render_note,
)
from orchestrator.extensions.page.reads import (
    answer_costs,
    branch_points,
    chat_entries,
    chat_places,
    stamps,
    turn_people,
)
from orchestrator.extensions.page.reads.branch_points import ChatParent
from orchestrator.extensions.page.reads.chat_entries import ListedChat
from orchestrator.extensions.page.screen_request import (
    OWN,
    PageScreen,
    ScreenRequest,
    ScreenResult,
    TitledContent,
)
from orchestrator.extensions.page.screens.chat_names import (
    format_chat_title,
    format_day,
    render_clock,
)
from orchestrator.extensions.page.screens.chat_talk import ChatTalk, render_talk
from orchestrator.extensions.page.screens.composer import (
    find_last_agent,
    list_writable_agents,
    render_command_button,
    render_composer,
)
from orchestrator.journal.db.database import Database
from orchestrator.journal.inspect import chat_history
from orchestrator.journal.inspect.chat_history import ChatPlace
from thinker.protocol.names import format_chat_name

# The states of a chat's newest turn that its entry shows.
STATES = {
    "running": ("running", "answering"),
    "waiting": ("waiting", "waits"),
    "failed": ("failed", "failed"),
    "dead": ("failed", "given up"),
}
ASK, EMPTY = "What would you like to know?", "Nothing was said here, or it was deleted."
AFRESH = (
    "New conversation: the agent stops reading what was said so far; what it stored as facts stays"
)


class _ShownChat(NamedTuple):
    """A chat as displayed: its newest part, or an earlier one. ``agents`` are the choices.

    ``parent`` is where the chat was forked from.
    """

    talk: ChatTalk
    title: str
    before: ChatPlace | None
    newest: bool
    composer: h.Node = None
    parent: ChatParent | None = None


async def _show_chat_list(request: ScreenRequest) -> ScreenResult:
    return TitledContent(
        "Chats", render_chats(request, await _list_entries(request), None), split=True
    )


async def _show_chat(request: ScreenRequest) -> ScreenResult:
    key = request.path["key"]
    if not request.viewer.can_see_chat(key):
        return h.p(class_="empty")["This chat belongs to someone else."]
    before = _parse_place(request.query.get("before"))
    if before is None and (turn := request.query.get("turn")):
        before = await request.journal(chat_places.find_page_of_turn, key, turn)
    talk, older, title = await request.journal(load_chat, key, before)
    own = key.startswith(OWN)
    composer = None
    if own and request.daemon is not None:
        agents = await list_writable_agents(request)
        composer = render_composer(request, key, talk.turns, agents)
    parent = await request.journal(branch_points.find_chat_parent, key) if own else None
    shown = _ShownChat(talk, title, older, before in (None, ChatPlace()), composer, parent)
    content = render_chats(request, await _list_entries(request), shown)
    return TitledContent(
        title,
        content,
        _render_lead(shown),
        _render_actions(request, shown),
        split=True,
        writes=own,
    )


async def _redirect_to_new_chat(request: ScreenRequest) -> ScreenResult:
    return RedirectResponse(f"/chats/{OWN}{request.viewer.user}/{token_hex(4)}/", 303)


async def _list_entries(request: ScreenRequest) -> list[ListedChat]:
    owner = None if request.has_right(Right.READ) else f"{OWN}{request.viewer.user}"
    before, words = _parse_number(request.query.get("chats")), request.query.get("q", "").strip()
    return await request.journal(chat_entries.list_chat_entries, before, owner, words)


def load_chat(
    db: Database, key: str, before: ChatPlace | None
) -> tuple[ChatTalk, ChatPlace | None, str]:
    """Return a part of a chat, where older messages are, and the chat's title."""
    history = chat_history.load_history_page(db, key, before)
    turns = history.turns
    asked = [line for talk in turns for line in talk.asked]
    questions = [found for talk in turns for found in talk.questions]
    turn_ids = [talk.turn_id for talk in turns if talk.turn_id is not None]
    talk = ChatTalk(
        key,
        turns,
        answer_costs.find_called_tools(db, questions),
        answer_costs.load_answer_costs(db, turn_ids),
        chat_entries.load_held_texts(db, [line.id for line in asked]),
        turn_people.load_people_waits(db, turn_ids),
        branch_points.list_left_turns(db, key),
    )
    opening = chat_entries.find_opening(db, key) if key.startswith(OWN) else ""
    sender = next((line.sender for line in reversed(asked) if line.sender), "")
    return talk, history.before, format_chat_title(key, sender, opening)


def render_chats(
    request: ScreenRequest, entries: Sequence[ListedChat], chat: _ShownChat | None
) -> h.Node:
    """Render the list and, next to it, a chat."""
    words = request.query.get("q", "").strip()
    detail = (
        h.div(class_="pane")[
            render_blank(
                "Choose a chat, or begin a new one.",
                render_link_button("New chat", "/chats/new", "do", "add"),
                "chats",
            )
        ]
        if chat is None
        else _render_chat(request, chat)
    )
    listed = [
        h.div(class_="listhead")[
            _render_search(words), render_link_button("New chat", "/chats/new", "do", "add")
        ],
        list(_iter_days(request, entries, chat))
        if entries
        else h.p(class_="empty")["No chat has these words." if words else "No chat yet."],
        _render_search_everywhere(request, words),
        h.p[h.a(href=build_link("chats", chats=entries[-1].at, q=words))["older chats"]]
        if len(entries) >= chat_history.PAGE
        else None,
    ]
    return render_split("Chats", listed, detail, chosen=chat is not None)


def _render_search(words: str) -> h.Element:
    return h.form(method="get", action="/chats", role="search")[
        h.input(
            name="q",
            type="search",
            value=words,
            placeholder="Search chats",
            aria_label="Search chats",
            maxlength="200",
        )
    ]


def _render_search_everywhere(request: ScreenRequest, words: str) -> h.Node:
    if not words or not request.has_right(Right.LOOK):
        return None
    return h.p[h.a(href=build_link("find", q=words))["Search all messages for these words"]]


def _iter_days(
    request: ScreenRequest, entries: Iterable[ListedChat], chat: _ShownChat | None
) -> Iterator[h.Element]:
    def find_day(entry: ListedChat) -> str:
        return format_day(entry.at, request.now, request.zone)

    for day, group in groupby(entries, find_day):
        yield h.h2(class_="day")[day]
        yield h.ul(class_="chatlist")[[_render_entry(request, item, chat) for item in group]]


def _render_entry(request: ScreenRequest, item: ListedChat, chat: _ShownChat | None) -> h.Element:
    """Render a chat; a script compares ``data-at`` with what this browser has seen of it."""
    here = "page" if chat and chat.talk.key == item.key else None
    query = build_link("", q=request.query.get("q", "").strip()).partition("?")
    state = STATES.get(item.state)
    own = item.key.startswith(OWN)
    return h.li[
        h.a(
            href=f"/chats/{item.key}{query[1]}{query[2]}",
            aria_current=here,
            data_row=True,
            data_chat=item.key,
            data_at=item.at if item.answered or not own else 0,
        )[
            h.b[format_chat_title(item.key, item.sender, item.opening)],
            h.small[render_clock(item.at, request.zone)],
            h.span(class_="soft")[
                shorten_text(find_plain_text(item.text), 80)
                or (h.i[_describe_lack(item)] if not item.held else "")
            ],
            h.small[
                figures.render_state("waiting", "not let in")
                if item.held
                else figures.render_state("denied", "refused")
                if item.refused
                else figures.render_state(*state)
                if state
                else _format_source(item)
            ],
        ]
    ]


def _describe_lack(item: ListedChat) -> str:
    return "what it wrote was deleted" if item.refused else "a file"


def _format_source(item: ListedChat) -> str:
    channel = "" if item.key.startswith(OWN) else item.key.partition("/")[0]
    return " · ".join(filter(None, (shorten_text(item.agent_id, 16), channel)))


def _render_lead(chat: _ShownChat) -> h.Node:
    """Render the way back to the list, and who talks here with which agent."""
    agent = show_hidden_characters(find_last_agent(chat.talk.turns))
    key = chat.talk.key
    place = "" if key.startswith(OWN) else show_hidden_characters(format_chat_name(key))
    with_agent = f"with {agent}" if agent else ""
    return [
        h.a(href="/chats", class_="back", aria_label="All chats")[render_icon("back")],
        h.span(class_="word")[" · ".join(filter(None, (place, with_agent)))],
    ]


def _render_actions(request: ScreenRequest, chat: _ShownChat) -> h.Node:
    key, turns = chat.talk.key, chat.talk.turns
    if not (key.startswith(OWN) and turns):
        return None
    name, agent = key.removeprefix(OWN).rstrip("/"), find_last_agent(turns)
    label = [render_icon("edit"), h.span(class_="word")["New conversation"]]
    return render_command_button(request, name, agent, "/new", label, AFRESH)


def _render_chat(request: ScreenRequest, chat: _ShownChat) -> h.Node:
    key, turns = chat.talk.key, chat.talk.turns
    here = f"/chats/{key}"
    return [
        h.div(class_="pane", data_pane=True, data_bottom=chat.newest, tabindex="-1")[
            h.p(class_="older")[h.a(href=f"{here}?before={chat.before}")["older messages"]]
            if chat.before
            else _render_parent(request, chat.parent),
            render_talk(request, chat.talk)
            if turns
            else render_blank(ASK if key.startswith(OWN) else EMPTY, icon="chats"),
            None if chat.newest else h.p(class_="older")[h.a(href=here)["newest messages"]],
        ],
        _render_foot(request, chat),
    ]


def _render_parent(request: ScreenRequest, parent: ChatParent | None) -> h.Node:
    """Render where a chat was forked from, and the way there."""
    if parent is None:
        return None
    name = show_hidden_characters(format_chat_name(parent.key))
    query = f"?turn={parent.turn_id}#turn-{parent.turn_id}" if parent.turn_id else ""
    sees = request.viewer.can_see_chat(parent.key)
    return h.p(class_="older soft")[
        "This chat goes on from ",
        h.a(href=f"/chats/{parent.key}{query}")[name] if sees else "another one",
    ]


def _render_foot(request: ScreenRequest, chat: _ShownChat) -> h.Node:
    key = chat.talk.key
    if request.daemon is None:
        return None
    if key.startswith(OWN):
        return chat.composer
    channel = show_hidden_characters(key.partition("/")[0])
    text = f"This chat is on {channel}: its people write there, and you can read it here."
    return h.div(class_="composer")[render_note(text)]


def _parse_number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 19 else None  # noqa: PLR2004 - digits of 2**63


def _parse_place(text: str | None) -> ChatPlace | None:
    inbox, _, outbox = (text or "").partition(".")
    row, sent = _parse_number(inbox), _parse_number(outbox)
    return None if row is None or sent is None else ChatPlace(row, sent)


SCREENS = (
    PageScreen("/chats", "Chats", Right.CHAT, _show_chat_list, "Chats"),
    PageScreen("/chats/new", "New chat", Right.CHAT, _redirect_to_new_chat, "Chats"),
    PageScreen(
        "/chats/{key:path}", "Chat", Right.CHAT, _show_chat, "Chats", stamp=stamps.read_chat
    ),
)
