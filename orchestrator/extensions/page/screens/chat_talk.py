"""The messages of a chat: what people said, and each answer with its calls, decisions and cost."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

import htpy as h

from orchestrator.control.roles import Right
from orchestrator.extensions.page.daemon_side.page_protocol import WEB_SEND
from orchestrator.extensions.page.html import figures, markdown
from orchestrator.extensions.page.html.argument_rows import (
    render_arguments,
    render_result,
    summarize_arguments,
)
from orchestrator.extensions.page.html.forms import build_link, render_hidden_fields
from orchestrator.extensions.page.html.icons import render_icon
from orchestrator.extensions.page.html.outside_text import (
    shorten_text,
    show_hidden_characters,
    strip_terminal_codes,
)
from orchestrator.extensions.page.html.vocabulary import render_note
from orchestrator.extensions.page.reads import chat_entries
from orchestrator.extensions.page.reads.answer_costs import AnswerCost, OfferedTools
from orchestrator.extensions.page.screen_request import OWN, ScreenRequest
from orchestrator.extensions.page.screens.branch_question import BRANCHES, can_branch_chat
from orchestrator.extensions.page.screens.call_questions import render_question
from orchestrator.extensions.page.screens.chat_names import format_day, render_clock
from orchestrator.extensions.page.screens.media_files import render_files
from orchestrator.extensions.page.screens.receipt_panel import render_receipt_link
from orchestrator.journal.inspect.chat_history import CallLine, InboundLine, SentLine, TurnTalk
from orchestrator.journal.turns.inbox import COMMAND, TASK
from orchestrator.journal.turns.turns import STOPPED

DELETED = "The chat was not let in, so what it wrote was deleted."
# What a waiting message does to the answer being written.
WAITS: dict[str | None, str] = {
    None: "waits in line",
    "steer": "joins at the next step, or follows",
    "interrupt": "ends the answer before it",
}
STATES = {"claimed": "", "done": "", "dead": "given up", "cancelled": "not answered"}
DELIVERY = {
    "queued": "stored, not sent yet",
    "sending": "being sent",
    "unknown": "it is not known whether this arrived",
    "failed_permanent": "could not be sent",
}
WAYS = {"task/": "by schedule", "hook/": "by webhook"}
ENDED = ("failed", "dead", "cancelled")
# How an address looks that the daemon has made harmless, and why.
_DEFUSED = re.compile(r"\bhxxps?://|\w\[\.\]\w")
DEFUSED = (
    "An address here is written with [.] so that it cannot be opened: neither you nor anything that"
    " the agent read has named it, and opening it could give away what you said."
)


class ChatTalk(NamedTuple):
    """The turns of a part of a chat, and what belongs to them.

    ``held`` are the texts of messages that wait until the chat is let in, by their rows;
    ``waits`` are the milliseconds that a turn waited for people, ``left`` the turns that a rewind
    has left behind.
    """

    key: str
    turns: Sequence[TurnTalk]
    tools: OfferedTools
    costs: Mapping[str, AnswerCost]
    held: Mapping[int, str]
    waits: Mapping[str, int] = MappingProxyType({})
    left: Collection[str] = ()


class _Mark(NamedTuple):
    """A line between messages: a day, or the beginning of a new conversation."""

    text: str
    at: int


def render_talk(request: ScreenRequest, chat: ChatTalk) -> h.Element:
    """Render the messages, oldest first, under the days on which they came."""
    return h.ol(class_="talk")[_iter_lines(request, chat)]


def _iter_lines(request: ScreenRequest, chat: ChatTalk) -> Iterator[h.Node]:
    day, shown = "", list(list_visible_turns(chat.turns))
    while shown:
        item = shown.pop(0)
        at = item.at if isinstance(item, _Mark) else _find_beginning(item)
        if (today := format_day(at, request.now, request.zone)) != day:
            day = today
            yield h.li(class_="day")[h.h2[day]]
        if isinstance(item, _Mark):
            yield h.li(class_="mark")[item.text]
        elif item.turn_id in chat.left:
            yield _render_left_turns(request, chat, [item, *_take_left_turns(chat, shown)])
        else:
            notices = take_earlier_notices(item, shown)
            yield from _render_turn(request, chat, item, notices, last=not shown)


def _take_left_turns(chat: ChatTalk, rest: list[TurnTalk | _Mark]) -> Iterator[TurnTalk]:
    """Take from the ``rest`` the turns that the same rewind has left behind."""
    while rest and isinstance(rest[0], TurnTalk) and rest[0].turn_id in chat.left:
        item = rest.pop(0)
        if isinstance(item, TurnTalk):
            yield item


def _render_left_turns(
    request: ScreenRequest, chat: ChatTalk, turns: Sequence[TurnTalk]
) -> h.Element:
    """Render turns that a rewind has left behind, folded."""
    count = figures.format_plural(len(turns), "answer")
    return h.li[
        h.details[
            h.summary(class_="soft")[f"{count} left behind: the agent does not read this any more"],
            h.ol(class_="talk")[(_render_turn(request, chat, talk, last=False) for talk in turns)],
        ]
    ]


def list_visible_turns(turns: Sequence[TurnTalk]) -> Iterator[TurnTalk | _Mark]:
    """Yield what is shown of turns: the commands of buttons leave a mark, or nothing.

    A stopped answer says so itself, so neither ``/stop`` nor its confirmation is shown.
    """
    rest = list(turns)
    while rest:
        talk = rest.pop(0)
        told = rest[0].said[0] if rest and _is_notice(rest[0]) else None
        command = _find_command(talk)
        if told is None or command not in ("/stop", "/new"):
            yield talk
        elif command == "/new" and told.text.startswith("This is a new conversation"):
            rest.pop(0)
            yield _Mark("New conversation: nothing above is read any more", told.at)
        elif command == "/stop" and told.text.startswith(chat_entries.STOPPED):
            answer = rest.pop(0)
            warnings = told.text.partition("\n")[2]
            if warnings:
                yield replace(answer, said=[replace(told, text=warnings)])
        else:
            yield talk


def take_earlier_notices(talk: TurnTalk, rest: list[TurnTalk | _Mark]) -> list[TurnTalk]:
    """Take from the ``rest`` the notices that were sent before the answer of a turn."""
    answered = talk.said[0].at if talk.said else talk.ended
    notices: list[TurnTalk] = []
    while talk.asked and rest:
        item = rest[0]
        if isinstance(item, _Mark) or not _is_notice(item):
            break
        if answered is not None and item.said[0].at >= answered:
            break
        notices.append(item)
        rest.pop(0)
    return notices


def _find_command(talk: TurnTalk) -> str:
    """Return the chat command that a message is, if it is one."""
    found = talk.asked[0] if len(talk.asked) == 1 and talk.turn_id is None else None
    return found.text.strip() if found is not None and found.kind == COMMAND else ""


def _is_notice(talk: TurnTalk) -> bool:
    return talk.turn_id is None and not talk.asked and len(talk.said) == 1


def _find_beginning(talk: TurnTalk) -> int:
    """Return when a turn's first message came: its sender has waited since then."""
    times = [line.at for line in talk.asked] + [line.at for line in talk.said]
    return min(times, default=talk.began or 0)


def _render_turn(
    request: ScreenRequest,
    chat: ChatTalk,
    talk: TurnTalk,
    notices: Sequence[TurnTalk] = (),
    *,
    last: bool,
) -> Iterator[h.Node]:
    if talk.asked:
        yield h.li(id=f"said-{talk.asked[0].id}", class_="person")[
            (_render_said_line(request, chat, line) for line in talk.asked)
        ]
    for notice in notices:
        yield from _render_turn(request, chat, notice, last=False)
    if talk.turn_id is None and not talk.said:
        return
    runs = talk.state in ("running", "waiting")
    yield h.li(id=f"turn-{talk.turn_id}" if talk.turn_id else None, class_="agent")[
        _render_head(request, talk),
        h.ul(class_="calls")[(_render_call(request, chat, talk, call) for call in talk.calls)]
        if talk.calls
        else None,
        (render_question(request, found, chat.tools, here=True) for found in talk.questions),
        (_render_sent_line(talk, line) for line in talk.said),
        [
            _render_growing_answer(request, talk),
            h.div(class_="after")[_render_turn_link(request, talk, "what it does now")],
        ]
        if runs
        else None,
        _render_problem(request, talk),
        None if runs or talk.turn_id is None else _render_footer(request, chat, talk, last=last),
    ]


def _render_said_line(request: ScreenRequest, chat: ChatTalk, line: InboundLine) -> h.Node:
    waits = WAITS.get(line.while_busy, WAITS[None])
    state = waits if line.state == "new" else ""
    if line.turn_id is None and not state:  # the answer says what became of the others
        state = STATES.get(line.state, line.state)
    mine = chat.key.startswith(f"{OWN}{request.viewer.user}/")
    who = "" if mine else show_hidden_characters(line.sender)
    held = chat.held.get(line.id)
    error = held is None and line.error and line.turn_id is None
    text = line.text if held is None else held
    gone = bool(error) and not text and not line.files
    return [
        h.p(class_="soft")[DELETED] if gone else None,
        h.div(class_="said")[strip_terminal_codes(text)]
        if text or not (line.files or gone)
        else None,
        render_files(line.files),
        h.small(data_once=line.message_id)[
            "by schedule " if line.kind == TASK else f"{who} " if who else None,
            render_clock(line.at, request.zone),
            f" · {state}" if state and held is None and not error else None,
            " · waits until you let this chat in" if held is not None else None,
        ],
        h.p(class_="problem")[strip_terminal_codes(line.error or "")]
        if error and not gone
        else None,
    ]


def _render_head(request: ScreenRequest, talk: TurnTalk) -> h.Element:
    name = show_hidden_characters(talk.agent_id or "Orchestrator")
    at = talk.said[0].at if talk.said else _find_beginning(talk)
    way: h.Node = None
    if talk.queue is not None:
        way = next((WAYS[q] for q in WAYS if talk.queue.startswith(q)), "from another chat")
    if talk.state == "running":
        way = ["is answering · ", figures.render_elapsed(_find_beginning(talk), None, request.now)]
    elif talk.state == "waiting":
        way = _format_wait(request) if talk.questions else "waits"
    return h.p(class_="by")[
        h.b[name],
        " ",
        h.small[render_clock(at, request.zone), [" · ", way] if way else None],
    ]


def _format_wait(request: ScreenRequest) -> str:
    return f"waits for {'your' if request.has_right(Right.DECIDE) else 'a'} decision"


def _render_growing_answer(request: ScreenRequest, talk: TurnTalk) -> h.Element:
    """Render the place in which a script shows the answer while it is written."""
    return h.div(class_="answer", data_growing=talk.turn_id, aria_live="off")[
        markdown.render_growing_markdown(request.growing(talk.turn_id or ""))
    ]


def _render_problem(request: ScreenRequest, talk: TurnTalk) -> h.Node:
    """Render why an answer failed or ended early; a stop is no problem."""
    if talk.state not in ENDED or not talk.problem:
        return None
    problem = strip_terminal_codes(talk.problem)
    if talk.state == "cancelled" and problem.startswith("stopped by "):
        by = problem.removeprefix("stopped by ").removeprefix("web:")
        who = "you" if by == request.viewer.user else by
        return h.p(class_="stopped")[render_icon("stop"), f"stopped by {who}"]
    return h.p(class_="problem")[problem]


def _render_call(
    request: ScreenRequest, chat: ChatTalk, talk: TurnTalk, call: CallLine
) -> h.Element:
    asks = any(one.seq == call.seq for found in talk.questions for one in found.calls)
    end = call.ended if call.state != "intent" else None
    took = None
    if call.began is not None and (end is not None or call.state == "intent"):
        took = figures.render_elapsed(call.began, end, request.now)
    summary = summarize_arguments(call.arguments)
    return h.li[
        h.details(class_="call")[
            h.summary[
                render_icon("tools"),
                h.code[show_hidden_characters(call.tool)],
                h.span(class_="about")[summary],
                h.span(class_="how")[
                    figures.render_state("waiting", _format_wait(request))
                    if asks
                    else figures.render_call_state(call.state),
                    took and [" ", took],
                ],
            ],
            None
            if asks  # the card below shows them
            else render_arguments(call.arguments, chat.tools.get((talk.turn_id or "", call.tool))),
            h.div(class_="result")[h.small["Result"], render_result(call.result)]
            if call.result
            else None,
        ],
        render_files(call.files),
    ]


def _render_sent_line(talk: TurnTalk, line: SentLine) -> h.Node:
    """Render one message of an answer; nothing for one that only says that it was stopped."""
    text = line.text
    if talk.state == "cancelled":
        text = text.removesuffix(STOPPED).rstrip()
    state, error = DELIVERY.get(line.state), shorten_text(line.error or "", 200)
    if not (text or line.files or state):
        return None
    return [
        h.div(class_="answer notice" if line.notice else "answer")[
            render_files(line.files),
            (markdown.render_markdown(text) if line.markdown else _render_plain(text))
            if text
            else None,
        ],
        render_note(f"{state}: {error}" if error else state, kind="warn") if state else None,
        h.p(class_="soft defused")[DEFUSED] if _DEFUSED.search(text) else None,
    ]


def _render_plain(text: str) -> h.Element:
    return h.p(class_="lines")[strip_terminal_codes(text)]


def _render_footer(
    request: ScreenRequest, chat: ChatTalk, talk: TurnTalk, *, last: bool
) -> h.Element:
    """Render the quiet row below an answer: copy, try again, why, and what it cost."""
    cost = chat.costs.get(talk.turn_id or "")
    return h.div(class_="after")[
        h.button(type="button", class_="plain", data_copy="li", title="Copy this answer")[
            render_icon("copy"), h.span(class_="word")["Copy"]
        ]
        if any(line.text for line in talk.said)
        else None,
        _render_repeat_button(request, chat, talk) if last or talk.state in ENDED else None,
        _render_turn_link(request, talk, "why this answer"),
        render_receipt_link(request, talk.turn_id, cost and cost.receipt),
        _render_more(request, chat, talk),
        h.small[_format_cost(talk, cost, chat.waits.get(talk.turn_id or "", 0))]
        if request.has_right(Right.LOOK)
        else None,
    ]


def _render_turn_link(request: ScreenRequest, talk: TurnTalk, words: str) -> h.Node:
    if talk.turn_id is None or not request.has_right(Right.LOOK):
        return None
    return h.a(class_="plain", href=build_link("turns", talk.turn_id))[render_icon("turns"), words]


def _render_more(request: ScreenRequest, chat: ChatTalk, talk: TurnTalk) -> h.Node:
    """Render what else one may do with an answer, folded."""
    if talk.turn_id is None or request.daemon is None:
        return None
    ways = [("Try", build_link("try", talk.turn_id))]
    ways.append(("Make it a test", build_link("turns", talk.turn_id, "test")))
    if not request.has_right(Right.CHANGE):
        ways = []
    if can_branch_chat(request.viewer, chat.key):
        ways += [
            (branch.title, build_link(name, talk.turn_id)) for name, branch in BRANCHES.items()
        ]
    if not ways:
        return None
    return h.details(class_="ways")[
        h.summary(class_="plain", title="What else one may do from here")[
            render_icon("more"), h.span(class_="word")["more"]
        ],
        h.ul(class_="chips")[(h.li[h.a(href=href, class_="chip")[word]] for word, href in ways)],
    ]


def _format_cost(talk: TurnTalk, cost: AnswerCost | None, waited: int) -> str:
    """Return the model, time, tokens and price of an answer."""
    asked = _find_beginning(talk)
    took = ""
    if talk.ended:
        took = figures.format_span(max(0, talk.ended - asked - waited), rough=True)
        took += f" + {figures.format_span(waited, rough=True)} waiting" if waited else ""
    if cost is None:
        return took
    price = "price unknown" if cost.usd is None else figures.format_usd(cost.usd)
    tokens = f"{figures.format_tokens(cost.tokens)} tokens"
    return " · ".join(filter(None, (shorten_text(cost.model, 40), took, tokens, price)))


def _render_repeat_button(request: ScreenRequest, chat: ChatTalk, talk: TurnTalk) -> h.Node:
    """Render the button that sends the message of an answer once more."""
    text = talk.asked[-1].text if talk.asked else ""
    mine = chat.key.startswith(f"{OWN}{request.viewer.user}/") or request.has_right(Right.CHANGE)
    writable = chat.key.startswith(OWN) and mine and request.has_right(Right.CHAT)
    if request.daemon is None or not (writable and text) or talk.asked[-1].kind == TASK:
        return None
    name = chat.key.removeprefix(OWN).rstrip("/")
    return h.form(method="post", action=f"/act/{WEB_SEND}", class_="act send")[
        render_hidden_fields(request, {"chat": name, "text": text, "agent": talk.agent_id or ""}),
        h.button(class_="plain", title="Send the same message once more")[
            render_icon("again"), h.span(class_="word")["Try again"]
        ],
    ]
