"""Chats: their list, the messages of one, and the composer."""

from collections.abc import Iterator, Sequence
from secrets import token_hex
from typing import NamedTuple

import htpy as h
from starlette.responses import RedirectResponse

from orchestrator.control import protocol
from orchestrator.control.roles import Right
from orchestrator.extensions.page.html import figures, markdown
from orchestrator.extensions.page.html.forms import build_link, render_act_button
from orchestrator.extensions.page.html.layout import render_split
from orchestrator.extensions.page.html.outside_text import (
    shorten_text,
    show_hidden_characters,
    strip_terminal_codes,
)
from orchestrator.extensions.page.html.parts import render_blank, render_link_button
from orchestrator.extensions.page.reads import chat_places, stamps
from orchestrator.extensions.page.screen_request import (
    OWN,
    PageScreen,
    ScreenRequest,
    ScreenResult,
    TitledContent,
)
from orchestrator.extensions.page.screens.composer import list_writable_agents, render_composer
from orchestrator.extensions.page.screens.media_files import render_files
from orchestrator.journal.inspect import chat_history
from orchestrator.journal.inspect.chat_history import (
    CallLine,
    ChatPlace,
    ChatSummary,
    HistoryPage,
    InboundLine,
    OpenQuestion,
    SentLine,
    TurnTalk,
)
from thinker.protocol.names import format_chat_name

# The meaning of a tool's class for a person who decides.
CLASSES = {
    "pure": "only reads",
    "local_tx": "changes what the daemon keeps",
    "keyed": "may be repeated",
    "verifiable": "can be checked afterwards",
    "non_idempotent": "cannot be repeated safely",
}
# What a waiting message does to the answer being written.
WAITS: dict[str | None, str] = {
    None: "waits in line",
    "steer": "joins at the next step, or follows",
    "interrupt": "ends the answer before it",
}
DELIVERY = {
    "queued": "stored, not sent yet",
    "sending": "being sent",
    "unknown": "? unconfirmed",
    "failed_permanent": "✕ given up",
}


class _Chat(NamedTuple):
    """A chat as displayed: its newest part, or an earlier one. ``agents`` are the choices."""

    key: str
    history: HistoryPage
    newest: bool = True
    agents: Sequence[str] = ()


async def _show_chat_list(request: ScreenRequest) -> ScreenResult:
    found = await _list_chats(request)
    return TitledContent("Chats", render_chats(request, found, None), split=True)


async def _show_chat(request: ScreenRequest) -> ScreenResult:
    key = request.path["key"]
    if not request.viewer.can_see_chat(key):
        return h.p(class_="empty")["This chat belongs to someone else."]
    before = _parse_place(request.query.get("before"))
    if before is None and (turn := request.query.get("turn")):
        before = await request.journal(chat_places.find_page_of_turn, key, turn)
    newest = before in (None, ChatPlace())
    history = await request.journal(chat_history.load_history_page, key, before)
    agents = await list_writable_agents(request) if key.startswith(OWN) else ()
    chat = _Chat(key, history, newest, agents)
    content = render_chats(request, await _list_chats(request), chat)
    return TitledContent(_format_chat_title(key), content, split=True, writes=key.startswith(OWN))


async def _redirect_to_new_chat(request: ScreenRequest) -> ScreenResult:
    return RedirectResponse(f"/chats/{OWN}{request.viewer.user}/{token_hex(4)}/", 303)


async def _list_chats(request: ScreenRequest) -> list[ChatSummary]:
    owner = None if request.has_right(Right.READ) else f"{OWN}{request.viewer.user}"
    return await request.journal(
        chat_history.list_chats, _parse_number(request.query.get("chats")), owner
    )


def _format_chat_title(key: str) -> str:
    """Format a chat's name; a chat of the page has only the name of its user."""
    if not key.startswith(OWN):
        return show_hidden_characters(format_chat_name(key))
    user, _, name = key.removeprefix(OWN).rstrip("/").partition("/")
    return show_hidden_characters(f"{user}, chat {name}")


def render_chats(
    request: ScreenRequest, chats: Sequence[ChatSummary], chat: _Chat | None
) -> h.Node:
    """Render the list and, next to it, a chat."""
    listed = [
        h.p[render_link_button("New chat", "/chats/new", "do", "add")],
        h.ul(class_="chatlist")[(_render_summary(item, chat, request.now) for item in chats)]
        if chats
        else h.p(class_="empty")["No chat yet."],
        h.p[h.a(href=build_link("chats", chats=chats[-1].at))["older ▾"]]
        if len(chats) == chat_history.PAGE
        else None,
    ]
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
    return render_split("Chats", listed, detail, chosen=chat is not None)


def render_question(request: ScreenRequest, found: OpenQuestion) -> h.Element:
    """Render a call that waits for a person, with everything that it would do."""
    fields = {"code": found.code, "argsHash": found.args_hash}
    decide = protocol.APPROVAL_DECIDE
    return h.div(class_="card urgent", data_ask=True, role="group", aria_label="Approval")[
        h.p[
            h.b[
                show_hidden_characters(found.agent_id),
                " wants to run ",
                show_hidden_characters(found.tool),
            ],
            f" for {shorten_text(found.sender, 40)}" if found.sender else None,
            f" in {_format_chat_title(found.chat_key)}",
            h.br,
            h.small[
                f"It {CLASSES.get(found.side_effect, found.side_effect)} · ",
                f"{figures.format_time_left(found.expires, request.now)} · code {found.code}",
            ],
        ],
        h.pre[format_arguments(found.arguments)],
        h.p(class_="soft")["because ", strip_terminal_codes(found.reason)],
        [
            render_act_button(
                request, decide, {**fields, "granted": "true"}, "Allow once", key="a"
            ),
            render_act_button(
                request,
                decide,
                {**fields, "granted": "false"},
                "Deny",
                kind="danger",
                note_label="why not",
                key="d",
            ),
        ]
        if request.has_right(Right.DECIDE)
        else None,
    ]


def format_arguments(text: str) -> str:
    """Return the arguments of a call, with hidden characters shown."""
    shown = show_hidden_characters(text[: chat_history.MAX_TEXT])
    rest = len(text) - chat_history.MAX_TEXT
    return f"{shown} … and {rest} characters more" if rest > 0 else shown


def _render_chat(request: ScreenRequest, chat: _Chat) -> h.Node:
    older, here = chat.history.before, f"/chats/{chat.key}"
    return [
        h.div(class_="pane", data_pane=True, data_bottom=chat.newest, tabindex="-1")[
            h.p[h.a(href=f"{here}?before={older}")["▴ older"]] if older else None,
            h.ol(class_="talk")[(_render_talk(request, talk) for talk in chat.history.turns)]
            if chat.history.turns
            else render_blank("Say something.", icon="chats"),
            None if chat.newest else h.p[h.a(href=here)["newest ▾"]],
        ],
        render_composer(request, chat.key, chat.history.turns, chat.agents)
        if chat.key.startswith(OWN) and request.daemon
        else None,
    ]


def _render_summary(item: ChatSummary, chat: _Chat | None, now: int) -> h.Element:
    here = "page" if chat and chat.key == item.key else None
    title = item.sender or _format_chat_title(item.key)
    return h.li[
        h.a(href=f"/chats/{item.key}", aria_current=here, data_row=True)[
            h.b[shorten_text(title, 40)],
            h.small[figures.format_age(item.at, now)],
            h.span(class_="soft")[shorten_text(item.text, 60) or "a file"],
            h.small[item.key.partition("/")[0]],
        ]
    ]


def _render_talk(request: ScreenRequest, talk: TurnTalk) -> Iterator[h.Node]:
    if talk.asked:
        yield h.li(id=f"said-{talk.asked[0].id}")[
            (_render_said_line(request, line) for line in talk.asked)
        ]
    if talk.turn_id is None and not talk.said:
        return
    runs = talk.state in ("running", "waiting")
    yield h.li(id=f"turn-{talk.turn_id}" if talk.turn_id else None)[
        _render_turn_head(request, talk),
        h.ul(class_="calls")[(_render_call(call) for call in talk.calls)] if talk.calls else None,
        (render_question(request, found) for found in talk.questions),
        (_render_sent_line(line) for line in talk.said),
        h.div(class_="answer", data_growing=talk.turn_id, aria_live="off")[
            markdown.render_growing_markdown(request.growing(talk.turn_id or ""))
        ]
        if runs
        else None,
        h.p(class_="problem")[strip_terminal_codes(talk.problem)]
        if talk.problem and talk.state in ("failed", "dead", "cancelled")
        else None,
    ]


def _render_said_line(request: ScreenRequest, line: InboundLine) -> h.Node:
    waits = {"new": WAITS.get(line.while_busy, WAITS[None]), "claimed": "", "done": ""}
    title = "by schedule" if line.kind == "task" else show_hidden_characters(line.sender) or "you"
    return [
        h.small(data_once=line.message_id)[
            title,
            " ",
            figures.render_moment(line.at, request.zone),
            f" {waits.get(line.state, line.state)}",
        ],
        h.div(class_="said")[strip_terminal_codes(line.text)]
        if line.text or not line.files
        else None,
        render_files(line.files),
        h.p(class_="problem")[strip_terminal_codes(line.error)]
        if line.error and line.turn_id is None
        else None,
    ]


def _render_turn_head(request: ScreenRequest, talk: TurnTalk) -> h.Node:
    if talk.turn_id is None:
        return h.p(class_="soft")[
            "Orchestrator ", figures.render_moment(talk.said[0].at, request.zone)
        ]
    why = (
        h.a(href=build_link("turns", talk.turn_id))["why this answer"]
        if request.has_right(Right.LOOK)
        else None
    )
    if talk.queue is not None:
        ways = {"task/": "by schedule", "hook/": "by webhook"}
        way = next((ways[q] for q in ways if talk.queue.startswith(q)), "from another chat")
        at = figures.render_moment(talk.said[0].at, request.zone)
        return h.p(class_="soft")[
            h.b[show_hidden_characters(talk.agent_id or "")], f" {way} ", at, " · ", why
        ]
    return h.p(class_="soft")[
        h.b[show_hidden_characters(talk.agent_id or "")],
        " ",
        figures.render_turn_outcome(talk.state, talk.stop_reason),
        " ",
        None
        if talk.began is None
        else figures.render_elapsed(_find_waiting_since(talk), talk.ended, request.now),
        " · ",
        why,
    ]


def _find_waiting_since(talk: TurnTalk) -> int:
    """Return the time at which an answer was requested: its sender has waited since then."""
    return min(line.at for line in talk.asked) if talk.asked else talk.began or 0


def _render_call(call: CallLine) -> h.Element:
    took = "" if None in (call.began, call.ended) else figures.format_span(call.ended - call.began)  # type: ignore[operator]  # neither is None
    return h.li[
        h.details[
            h.summary[
                h.code[show_hidden_characters(call.tool)],
                " ",
                h.small[shorten_text(call.arguments, 60)],
                " ",
                figures.render_call_state(call.state),
                f" {took}",
            ],
            h.pre[format_arguments(call.arguments)],
            h.pre[strip_terminal_codes(call.result)] if call.result else None,
        ],
        render_files(call.files),
    ]


def _render_sent_line(line: SentLine) -> h.Node:
    state = DELIVERY.get(line.state)
    return h.div(class_="answer notice" if line.notice else "answer")[
        h.small["Notice of the daemon"] if line.notice else None,
        render_files(line.files),
        markdown.render_markdown(line.text)
        if line.markdown
        else h.p[strip_terminal_codes(line.text)],
        h.small[f"{state} {strip_terminal_codes(line.error or '')}"] if state else None,
    ]


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
