"""The inbox: everything that waits for a person, and past decisions."""

from collections.abc import Sequence
from typing import NamedTuple

import htpy as h

from orchestrator.control import protocol
from orchestrator.control.roles import Right
from orchestrator.extensions.page.daemon_side import page_protocol
from orchestrator.extensions.page.html import figures
from orchestrator.extensions.page.html.forms import build_link, render_act_button
from orchestrator.extensions.page.html.outside_text import (
    shorten_text,
    show_hidden_characters,
    strip_terminal_codes,
)
from orchestrator.extensions.page.html.parts import render_panel
from orchestrator.extensions.page.html.tables import TableColumn, render_table
from orchestrator.extensions.page.reads import call_verdicts, waiting
from orchestrator.extensions.page.reads.call_verdicts import UnconfirmedCall
from orchestrator.extensions.page.reads.waiting import AuditEntry
from orchestrator.extensions.page.screen_request import PageScreen, ScreenRequest, ScreenResult
from orchestrator.extensions.page.screens.chats import render_question
from orchestrator.journal.access import pairing, tool_pins
from orchestrator.journal.access.pairing import Pairing
from orchestrator.journal.access.tool_pins import Pin
from orchestrator.journal.db.database import Database
from orchestrator.journal.inspect import chat_history
from orchestrator.journal.inspect.chat_history import OpenQuestion
from orchestrator.journal.schedule import tasks
from orchestrator.journal.schedule.tasks import Task
from orchestrator.journal.turns import deadletters, pauses
from orchestrator.journal.turns.inbox import InboxRow
from orchestrator.journal.turns.pauses import Pause

MAX_ITEMS = 50  # of each kind
LET_IN = {"talk": "Let in", "approve": "Let in and approve", "operate": "Let in as operator"}
# Actions of the page's forms; other entries of the audit log are in words.
ACTS = {
    protocol.APPROVAL_DECIDE: "answered a question",
    protocol.PAIR_APPROVE: "let a chat in",
    protocol.PAIR_REVOKE: "shut a chat out",
    protocol.TOOL_APPROVE: "approved a tool",
    page_protocol.CALL_SETTLE: "said whether a call happened",
    protocol.DLQ_RETRY: "tried a message again",
    protocol.DLQ_DROP: "dropped a message",
    protocol.AGENT_PAUSE: "paused an agent",
    protocol.AGENT_RESUME: "resumed an agent",
    protocol.RELOAD: "read the configuration again",
    protocol.TASK_RUN: "ran a task",
    protocol.TASK_ENABLE: "switched a task on",
    protocol.TASK_DISABLE: "switched a task off",
}


class WaitingList(NamedTuple):
    """Everything that waits, and recent decisions."""

    questions: Sequence[OpenQuestion] = ()
    chats: Sequence[Pairing] = ()
    tools: Sequence[Pin] = ()
    dead: Sequence[InboxRow] = ()
    pauses: Sequence[Pause] = ()
    tasks: Sequence[Task] = ()
    unconfirmed: Sequence[tuple[str, str]] = ()  # chats and texts
    calls: Sequence[UnconfirmedCall] = ()
    decided: Sequence[AuditEntry] = ()


def load_waiting_list(db: Database, now: int) -> WaitingList:
    """Load everything that waits, at most `MAX_ITEMS` of each kind."""
    return WaitingList(
        chat_history.list_open_questions(db, "? = 1", 1, now)[:MAX_ITEMS],
        [item for item in pairing.list_pairings(db) if item.state == "pending"][:MAX_ITEMS],
        [pin for pin in tool_pins.list_pins(db) if pin.needs_approval][:MAX_ITEMS],
        deadletters.list_dead_letters(db)[:MAX_ITEMS],
        pauses.list_pauses(db)[:MAX_ITEMS],
        [task for task in tasks.list_tasks(db) if task.state == "disabled" and task.failures][
            :MAX_ITEMS
        ],
        waiting.list_unconfirmed_messages(db, MAX_ITEMS),
        call_verdicts.list_unconfirmed_calls(db, now, MAX_ITEMS),
        waiting.list_recent_decisions(db, MAX_ITEMS),
    )


async def _show_inbox(request: ScreenRequest) -> ScreenResult:
    return render_inbox(request, await request.journal(load_waiting_list, request.now))


async def _show_question(request: ScreenRequest) -> ScreenResult:
    code = request.path["code"]
    questions = await request.journal(
        chat_history.list_open_questions, "code = ?", code, request.now
    )
    if not questions:
        return [
            h.p(class_="empty")["This question was answered, withdrawn or has expired."],
            h.p[h.a(href="/inbox")["What waits"]],
        ]
    return [
        render_question(request, questions[0]),
        h.p[h.a(href=build_link("turns", questions[0].turn_id))["its turn"]],
    ]


def render_inbox(request: ScreenRequest, found: WaitingList) -> h.Node:
    """Render the inbox."""
    reads = request.has_right(Right.READ)
    sections = (
        ("Tool calls", [_render_question_entry(request, item) for item in found.questions]),
        ("Chats that ask to be let in", [_render_pairing(request, item) for item in found.chats]),
        ("Tools that have changed", [_render_changed_tool(request, item) for item in found.tools]),
        (
            "Calls that may have happened",
            [_render_unconfirmed_call(request, item) for item in found.calls],
        ),
        (
            "Messages that were given up",
            [_render_dead_message(request, row, reads=reads) for row in found.dead],
        ),
        ("Paused agents", [_render_pause(request, item) for item in found.pauses]),
        (
            "Tasks switched off after failures",
            [_render_failed_task(request, item) for item in found.tasks],
        ),
        (
            "Messages of unknown delivery",
            [
                h.p[chat, ": ", shorten_text(text, 120) if reads else None]
                for chat, text in found.unconfirmed
            ],
        ),
    )
    shown = [render_panel(f"{title} ({len(items)})", *items) for title, items in sections if items]
    return [
        shown or h.p(class_="empty")["Nothing waits for you."],
        _render_decision_history(request, found.decided),
        h.p(class_="soft")["In a terminal: ", h.code["orchestrator approvals list"]],
    ]


def _render_question_entry(request: ScreenRequest, found: OpenQuestion) -> h.Node:
    return h.div(id=f"q-{found.code}", data_row=True, tabindex="-1")[
        render_question(request, found),
        h.p(class_="soft")[
            h.a(href=build_link("inbox", found.code))["link to this question"],
            " · ",
            h.a(href=build_link("turns", found.turn_id))["what the agent did so far"],
        ],
    ]


def _render_pairing(request: ScreenRequest, found: Pairing) -> h.Node:
    return h.div(data_row=True)[
        h.p[
            h.b[show_hidden_characters(found.channel), ":", show_hidden_characters(found.chat_id)],
            f" “{shorten_text(found.name, 40)}”",
            f" · {figures.format_age(found.created_at, request.now)} · code {found.code}",
        ],
        [
            render_act_button(
                request, protocol.PAIR_APPROVE, {"code": found.code or "", "role": role}, label
            )
            for role, label in LET_IN.items()
            if role != "operate" or request.has_right(Right.CHANGE)
        ],
    ]


def _render_changed_tool(request: ScreenRequest, found: Pin) -> h.Node:
    why = "has changed since it was approved" if found.changed else "came later than its server"
    return h.div(data_row=True)[
        h.p[
            h.b[show_hidden_characters(found.name)],
            f" {why}. It is not offered until you approve it: look at the server first.",
        ],
        render_act_button(request, protocol.TOOL_APPROVE, {"name": found.name}, "Approve"),
    ]


def _render_unconfirmed_call(request: ScreenRequest, found: UnconfirmedCall) -> h.Node:
    fields = {"turnId": found.turn_id, "seq": str(found.seq)}
    return h.div(data_row=True)[
        h.p[
            h.b[
                show_hidden_characters(found.agent_id),
                " called ",
                show_hidden_characters(found.tool),
            ],
            f" and was cut off {figures.format_age(found.at, request.now)}. It is not repeated. ",
            h.a(href=build_link("turns", found.turn_id))["its turn"],
        ],
        h.pre[show_hidden_characters(found.arguments)],
        render_act_button(
            request, page_protocol.CALL_SETTLE, {**fields, "happened": "true"}, "It happened"
        ),
        render_act_button(
            request, page_protocol.CALL_SETTLE, {**fields, "happened": "false"}, "It did not"
        ),
    ]


def _render_dead_message(request: ScreenRequest, row: InboxRow, *, reads: bool) -> h.Node:
    row_id = {"id": str(row.id)}
    return h.div(data_row=True)[
        h.p[
            f"message {row.id} of {row.build_address().name}",
            f": {shorten_text(row.text, 120)}" if reads else None,
            h.br,
            h.small[strip_terminal_codes(row.error or "")],
        ],
        render_act_button(request, protocol.DLQ_RETRY, row_id, "Try again"),
        render_act_button(request, protocol.DLQ_DROP, row_id, "Drop", kind="danger"),
        h.a(href=build_link("m", str(row.id)))["its turn"] if row.turn_id else None,
    ]


def _render_pause(request: ScreenRequest, found: Pause) -> h.Node:
    return h.div(data_row=True)[
        h.p[
            h.b[show_hidden_characters(found.agent_id)],
            f" since {figures.format_age(found.at, request.now)}: ",
            strip_terminal_codes(found.reason),
        ],
        render_act_button(request, protocol.AGENT_RESUME, {"agentId": found.agent_id}, "Resume")
        if request.has_right(Right.CHANGE)
        else None,
    ]


def _render_failed_task(request: ScreenRequest, found: Task) -> h.Node:
    return h.div(data_row=True)[
        h.p[
            h.b[show_hidden_characters(found.name)],
            f" of {found.agent_id}: {found.failures} failures. ",
            strip_terminal_codes(found.note or ""),
        ],
        render_act_button(request, protocol.TASK_ENABLE, {"id": str(found.id)}, "Switch on")
        if request.has_right(Right.CHANGE)
        else None,
    ]


def _render_decision_history(request: ScreenRequest, decided: Sequence[AuditEntry]) -> h.Node:
    return h.details[
        h.summary["What was decided, and by whom"],
        render_table(
            "Decisions",
            (TableColumn("When", "time"), "Who", "What", "Of what"),
            (
                (
                    figures.render_moment(at, request.zone),
                    show_hidden_characters(actor.removeprefix("web:")),
                    ACTS.get(act_, show_hidden_characters(act_)),
                    shorten_text(subject, 60),
                )
                for at, actor, act_, subject in decided
            ),
            "No decisions yet.",
        ),
    ]


SCREENS = (
    PageScreen("/inbox", "Inbox", Right.DECIDE, _show_inbox, "Inbox"),
    PageScreen("/inbox/{code}", "A question", Right.DECIDE, _show_question, "Inbox"),
)
