"""Chats: the list of them, what was said in one, and where to write."""

from collections.abc import Iterator, Sequence
from secrets import token_hex
from typing import NamedTuple

import htpy as h
from starlette.responses import RedirectResponse

from orchestrator.control import protocol
from orchestrator.control.page_access import Right
from orchestrator.journal.inspect import chat_history
from orchestrator.journal.inspect.chat_history import (
    CallLine,
    ChatPlace,
    ChatSummary,
    HistoryPage,
    OpenQuestion,
    SaidLine,
    SentLine,
    TurnTalk,
)
from orchestrator.page.html import figures, markdown
from orchestrator.page.html.forms import act, link
from orchestrator.page.html.outside_text import plain, short, visible
from orchestrator.page.screens.composer import composer, writable_agents
from orchestrator.page.screens.media_files import files
from orchestrator.page.visit import OWN, Screen, Shown, Titled, Visit
from thinker.protocol.names import chat_name

# What the class of a tool means for a person who decides.
CLASSES = {
    "pure": "only reads",
    "local_tx": "changes what the daemon keeps",
    "keyed": "may be repeated",
    "verifiable": "can be checked afterwards",
    "non_idempotent": "cannot be repeated safely",
}
# What a message that waits does to the answer that is being written.
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
    """One chat, as it is shown: the newest part of it, or one before. ``agents`` to choose from."""

    key: str
    history: HistoryPage
    newest: bool = True
    agents: Sequence[str] = ()


async def _list(visit: Visit) -> Shown:
    found = await _chats(visit)
    return draw(visit, found, None)


async def _chat(visit: Visit) -> Shown:
    key = visit.path["key"]
    if not visit.visitor.sees(key):
        return h.p(class_="empty")["This chat is of someone else."]
    before = _place(visit.query.get("before"))
    if before is None and (turn := visit.query.get("turn")):
        before = await visit.journal(chat_history.around, key, turn)
    newest = before in (None, ChatPlace())
    history = await visit.journal(chat_history.page, key, before)
    agents = await writable_agents(visit) if key.startswith(OWN) else ()
    chat = _Chat(key, history, newest, agents)
    return Titled(_title(key), draw(visit, await _chats(visit), chat))


async def _new(visit: Visit) -> Shown:
    return RedirectResponse(f"/chats/{OWN}{visit.visitor.user}/{token_hex(4)}/", 303)


async def _chats(visit: Visit) -> list[ChatSummary]:
    owner = None if visit.may(Right.READ) else f"{OWN}{visit.visitor.user}"
    return await visit.journal(chat_history.chats, _number(visit.query.get("chats")), owner)


def _title(key: str) -> str:
    """Name a chat; the page's own ones by their user alone."""
    if not key.startswith(OWN):
        return visible(chat_name(key))
    user, _, name = key.removeprefix(OWN).rstrip("/").partition("/")
    return visible(f"{user}, chat {name}")


def draw(visit: Visit, chats: Sequence[ChatSummary], chat: _Chat | None) -> h.Node:
    """Draw the list, and a chat beside it."""
    return h.div(class_=f"chats {'open' if chat else ''}".strip())[
        h.div(class_="chatlist-box")[
            h.p[h.a(href="/chats/new")["+ new chat"]],
            h.ul(class_="chatlist")[(_summary(item, chat, visit.now) for item in chats)]
            if chats
            else h.p(class_="empty")["No chat yet. Say something: the demo agent needs no key."],
            h.p[h.a(href=link("chats", chats=chats[-1].at))["older ▾"]]
            if len(chats) == chat_history.PAGE
            else None,
        ],
        h.div[
            h.p(class_="empty")["Choose a chat, or begin a new one."]
            if chat is None
            else _one(visit, chat)
        ],
    ]


def question(visit: Visit, found: OpenQuestion) -> h.Element:
    """Draw a call that waits for a person, with all that it would do."""
    fields = {"code": found.code, "argsHash": found.args_hash}
    decide = protocol.APPROVAL_DECIDE
    return h.div(class_="card urgent", data_ask=True, role="group", aria_label="Approval")[
        h.p[
            h.b[visible(found.agent_id), " wants to run ", visible(found.tool)],
            f" for {short(found.sender, 40)}" if found.sender else None,
            f" in {_title(found.chat_key)}",
            h.br,
            h.small[
                f"It {CLASSES.get(found.side_effect, found.side_effect)} · ",
                f"{figures.left(found.expires, visit.now)} · code {found.code}",
            ],
        ],
        h.pre[arguments(found.arguments)],
        h.p(class_="soft")["because ", plain(found.reason)],
        [
            act(visit, decide, {**fields, "granted": "true"}, "Allow once", key="a"),
            act(
                visit,
                decide,
                {**fields, "granted": "false"},
                "Deny",
                danger=True,
                asks="why not",
                key="d",
            ),
        ]
        if visit.may(Right.DECIDE)
        else None,
    ]


def arguments(text: str) -> str:
    """Return the arguments of a call, with everything in them visible."""
    shown = visible(text[: chat_history.SHOWN])
    rest = len(text) - chat_history.SHOWN
    return f"{shown} … and {rest} characters more" if rest > 0 else shown


def _one(visit: Visit, chat: _Chat) -> h.Node:
    older, here = chat.history.before, f"/chats/{chat.key}"
    return [
        h.p[h.a(href=f"{here}?before={older}")["▴ older"]] if older else None,
        h.ol(class_="talk")[(_talk(visit, talk) for talk in chat.history.turns)]
        if chat.history.turns
        else h.p(class_="empty")["Say something."],
        None if chat.newest else h.p[h.a(href=here)["newest ▾"]],
        composer(visit, chat.key, chat.history.turns, chat.agents)
        if chat.key.startswith(OWN) and visit.daemon
        else None,
        h.span(data_bottom=True) if chat.newest else None,
    ]


def _summary(item: ChatSummary, chat: _Chat | None, now: int) -> h.Element:
    here = "page" if chat and chat.key == item.key else None
    title = item.sender or _title(item.key)
    return h.li[
        h.a(href=f"/chats/{item.key}", aria_current=here, data_row=True)[
            h.b[short(item.text, 40) or "a file"],
            h.br,
            h.small[
                short(title, 24),
                f" · {item.key.partition('/')[0]} · {figures.ago(item.at, now)}",
            ],
        ]
    ]


def _talk(visit: Visit, talk: TurnTalk) -> Iterator[h.Node]:
    if talk.asked:
        yield h.li(id=f"said-{talk.asked[0].id}")[(_said(visit, line) for line in talk.asked)]
    if talk.turn_id is None and not talk.said:
        return
    runs = talk.state in ("running", "waiting")
    yield h.li(id=f"turn-{talk.turn_id}" if talk.turn_id else None)[
        _head(visit, talk),
        h.ul(class_="calls")[(_call(call) for call in talk.calls)] if talk.calls else None,
        (question(visit, found) for found in talk.questions),
        (_sent(line) for line in talk.said),
        h.div(class_="answer", data_growing=talk.turn_id, aria_live="off")[
            markdown.growing(visit.growing(talk.turn_id or ""))
        ]
        if runs
        else None,
        h.p(class_="problem")[plain(talk.problem)]
        if talk.problem and talk.state in ("failed", "dead", "cancelled")
        else None,
    ]


def _said(visit: Visit, line: SaidLine) -> h.Node:
    waits = {"new": WAITS.get(line.while_busy, WAITS[None]), "claimed": "", "done": ""}
    title = "by schedule" if line.kind == "task" else visible(line.sender) or "you"
    return [
        h.small(data_once=line.message_id)[
            title,
            " ",
            figures.moment(line.at, visit.zone),
            f" {waits.get(line.state, line.state)}",
        ],
        h.div(class_="said")[plain(line.text)] if line.text or not line.files else None,
        files(line.files),
        h.p(class_="problem")[plain(line.error)] if line.error and line.turn_id is None else None,
    ]


def _head(visit: Visit, talk: TurnTalk) -> h.Node:
    if talk.turn_id is None:
        return h.p(class_="soft")["Orchestrator ", figures.moment(talk.said[0].at, visit.zone)]
    why = (
        h.a(href=link("turns", talk.turn_id))["why this answer"] if visit.may(Right.LOOK) else None
    )
    if talk.queue is not None:
        ways = {"task/": "by schedule", "hook/": "by webhook"}
        way = next((ways[q] for q in ways if talk.queue.startswith(q)), "from another chat")
        at = figures.moment(talk.said[0].at, visit.zone)
        return h.p(class_="soft")[h.b[visible(talk.agent_id or "")], f" {way} ", at, " · ", why]
    return h.p(class_="soft")[
        h.b[visible(talk.agent_id or "")],
        " ",
        figures.outcome(talk.state, talk.stop_reason),
        " ",
        None if talk.began is None else figures.elapsed(_since(talk), talk.ended, visit.now),
        " · ",
        why,
    ]


def _since(talk: TurnTalk) -> int:
    """Return when an answer was asked for: its sender has waited since then."""
    return min(line.at for line in talk.asked) if talk.asked else talk.began or 0


def _call(call: CallLine) -> h.Element:
    took = "" if None in (call.began, call.ended) else figures.span(call.ended - call.began)  # type: ignore[operator]  # neither is None
    return h.li[
        h.details[
            h.summary[
                h.code[visible(call.tool)],
                " ",
                h.small[short(call.arguments, 60)],
                " ",
                figures.call_state(call.state),
                f" {took}",
            ],
            h.pre[arguments(call.arguments)],
            h.pre[plain(call.result)] if call.result else None,
        ],
        files(call.files),
    ]


def _sent(line: SentLine) -> h.Node:
    state = DELIVERY.get(line.state)
    return h.div(class_="answer")[
        files(line.files),
        markdown.rendered(line.text) if line.markdown else h.p[plain(line.text)],
        h.small[f"{state} {plain(line.error or '')}"] if state else None,
    ]


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 19 else None  # noqa: PLR2004 - digits of 2**63


def _place(text: str | None) -> ChatPlace | None:
    inbox, _, outbox = (text or "").partition(".")
    row, sent = _number(inbox), _number(outbox)
    return None if row is None or sent is None else ChatPlace(row, sent)


SCREENS = (
    Screen("/chats", "Chats", Right.CHAT, _list, "Chats"),
    Screen("/chats/new", "New chat", Right.CHAT, _new, "Chats"),
    Screen("/chats/{key:path}", "Chat", Right.CHAT, _chat, "Chats"),
)
