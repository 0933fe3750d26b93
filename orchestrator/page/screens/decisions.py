"""The inbox: all that waits for a person, and what was decided. To open it decides nothing."""

from collections.abc import Sequence
from typing import NamedTuple

import htpy as h

from orchestrator.control import protocol
from orchestrator.control.page_access import Right
from orchestrator.journal.access import pairing, tool_pins
from orchestrator.journal.access.pairing import Pairing
from orchestrator.journal.access.tool_pins import Pin
from orchestrator.journal.db.database import Database
from orchestrator.journal.inspect import chat_history, waiting
from orchestrator.journal.inspect.chat_history import OpenQuestion
from orchestrator.journal.inspect.waiting import AuditEntry
from orchestrator.journal.schedule import tasks
from orchestrator.journal.schedule.tasks import Task
from orchestrator.journal.turns import call_verdicts, deadletters, pauses
from orchestrator.journal.turns.call_verdicts import UnconfirmedCall
from orchestrator.journal.turns.inbox import InboxRow
from orchestrator.journal.turns.pauses import Pause
from orchestrator.page.html import figures
from orchestrator.page.html.forms import act, link
from orchestrator.page.html.outside_text import plain, short, visible
from orchestrator.page.html.tables import panel, table
from orchestrator.page.screens.chats import question
from orchestrator.page.visit import Screen, Shown, Visit

MOST = 50  # of each kind
# What a form of the page did; other entries of the audit log have words.
ACTS = {
    protocol.APPROVAL_DECIDE: "answered a question",
    protocol.PAIR_APPROVE: "let a chat in",
    protocol.PAIR_REVOKE: "shut a chat out",
    protocol.TOOL_APPROVE: "approved a tool",
    protocol.CALL_SETTLE: "said whether a call happened",
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
    """All that waits, and what was decided lately."""

    questions: Sequence[OpenQuestion] = ()
    chats: Sequence[Pairing] = ()
    tools: Sequence[Pin] = ()
    dead: Sequence[InboxRow] = ()
    pauses: Sequence[Pause] = ()
    tasks: Sequence[Task] = ()
    unconfirmed: Sequence[tuple[str, str]] = ()  # chats and texts
    calls: Sequence[UnconfirmedCall] = ()
    decided: Sequence[AuditEntry] = ()


def read(db: Database, now: int) -> WaitingList:
    """Return all that waits, at most `MOST` of each kind."""
    return WaitingList(
        chat_history.questions(db, "? = 1", 1, now)[:MOST],
        [item for item in pairing.every(db) if item.state == "pending"][:MOST],
        [pin for pin in tool_pins.every(db) if pin.open][:MOST],
        deadletters.every(db)[:MOST],
        pauses.every(db)[:MOST],
        [task for task in tasks.listed(db) if task.state == "disabled" and task.failures][:MOST],
        waiting.unconfirmed(db, MOST),
        call_verdicts.waiting(db, now, MOST),
        waiting.decided(db, MOST),
    )


async def _body(visit: Visit) -> Shown:
    return draw(visit, await visit.journal(read, visit.now))


async def _one(visit: Visit) -> Shown:
    code = visit.path["code"]
    found = await visit.journal(chat_history.question, code, visit.now)
    if found is None:
        return [
            h.p(class_="empty")["This question is answered, withdrawn or over."],
            h.p[h.a(href="/inbox")["What waits"]],
        ]
    return [question(visit, found), h.p[h.a(href=link("turns", found.turn_id))["its turn"]]]


def draw(visit: Visit, found: WaitingList) -> h.Node:
    """Draw the inbox."""
    reads = visit.may(Right.READ)
    sections = (
        ("Tool calls", [_question(visit, item) for item in found.questions]),
        ("Chats that ask to be let in", [_chat(visit, item) for item in found.chats]),
        ("Tools that have changed", [_tool(visit, item) for item in found.tools]),
        ("Calls that may have happened", [_call(visit, item) for item in found.calls]),
        ("Messages that were given up", [_dead(visit, row, reads=reads) for row in found.dead]),
        ("Paused agents", [_pause(visit, item) for item in found.pauses]),
        ("Tasks switched off after failures", [_task(visit, item) for item in found.tasks]),
        (
            "Messages of unknown delivery",
            [
                h.p[chat, ": ", short(text, 120) if reads else None]
                for chat, text in found.unconfirmed
            ],
        ),
    )
    shown = [panel(f"{title} ({len(items)})", *items) for title, items in sections if items]
    return [
        shown or h.p(class_="empty")["Nothing waits for you."],
        _history(visit, found.decided),
        h.p(class_="soft")["In a terminal: ", h.code["orchestrator approvals list"]],
    ]


def _question(visit: Visit, found: OpenQuestion) -> h.Node:
    return h.div(id=f"q-{found.code}", data_row=True, tabindex="-1")[
        question(visit, found),
        h.p(class_="soft")[
            h.a(href=link("inbox", found.code))["link to this question"],
            " · ",
            h.a(href=link("turns", found.turn_id))["what the agent did so far"],
        ],
    ]


def _chat(visit: Visit, found: Pairing) -> h.Node:
    return h.div(data_row=True)[
        h.p[
            h.b[visible(found.channel), ":", visible(found.chat_id)],
            f" “{short(found.name, 40)}” · {figures.ago(found.created_at, visit.now)}",
            f" · code {found.code}",
        ],
        act(visit, protocol.PAIR_APPROVE, {"code": found.code or ""}, "Let in"),
    ]


def _tool(visit: Visit, found: Pin) -> h.Node:
    why = "has changed since it was approved" if found.changed else "came later than its server"
    return h.div(data_row=True)[
        h.p[
            h.b[visible(found.name)],
            f" {why}. It is not offered until you approve it: look at the server first.",
        ],
        act(visit, protocol.TOOL_APPROVE, {"name": found.name}, "Approve"),
    ]


def _call(visit: Visit, found: UnconfirmedCall) -> h.Node:
    fields = {"turnId": found.turn_id, "seq": str(found.seq)}
    return h.div(data_row=True)[
        h.p[
            h.b[visible(found.agent_id), " called ", visible(found.tool)],
            f" and was cut off {figures.ago(found.at, visit.now)}. It is not repeated. ",
            h.a(href=link("turns", found.turn_id))["its turn"],
        ],
        h.pre[visible(found.arguments)],
        act(visit, protocol.CALL_SETTLE, {**fields, "happened": "true"}, "It happened"),
        act(visit, protocol.CALL_SETTLE, {**fields, "happened": "false"}, "It did not"),
    ]


def _dead(visit: Visit, row: InboxRow, *, reads: bool) -> h.Node:
    row_id = {"id": str(row.id)}
    return h.div(data_row=True)[
        h.p[
            f"message {row.id} of {row.address().name}",
            f": {short(row.text, 120)}" if reads else None,
            h.br,
            h.small[plain(row.error or "")],
        ],
        act(visit, protocol.DLQ_RETRY, row_id, "Try again"),
        act(visit, protocol.DLQ_DROP, row_id, "Drop", danger=True),
        h.a(href=link("m", str(row.id)))["its turn"] if row.turn_id else None,
    ]


def _pause(visit: Visit, found: Pause) -> h.Node:
    return h.div(data_row=True)[
        h.p[
            h.b[visible(found.agent_id)],
            f" since {figures.ago(found.at, visit.now)}: ",
            plain(found.reason),
        ],
        act(visit, protocol.AGENT_RESUME, {"agentId": found.agent_id}, "Resume")
        if visit.may(Right.CHANGE)
        else None,
    ]


def _task(visit: Visit, found: Task) -> h.Node:
    return h.div(data_row=True)[
        h.p[
            h.b[visible(found.name)],
            f" of {found.agent_id}: {found.failures} failures. ",
            plain(found.note or ""),
        ],
        act(visit, protocol.TASK_ENABLE, {"id": str(found.id)}, "Switch on")
        if visit.may(Right.CHANGE)
        else None,
    ]


def _history(visit: Visit, decided: Sequence[AuditEntry]) -> h.Node:
    return h.details[
        h.summary["What was decided, and by whom"],
        table(
            "Decisions",
            ("When", "Who", "What", "Of what"),
            (
                (
                    figures.moment(at, visit.zone),
                    visible(actor.removeprefix("web:")),
                    ACTS.get(act_, visible(act_)),
                    short(subject, 60),
                )
                for at, actor, act_, subject in decided
            ),
            "Nothing was decided yet.",
        ),
    ]


SCREENS = (
    Screen("/inbox", "Inbox", Right.DECIDE, _body, "Inbox"),
    Screen("/inbox/{code}", "A question", Right.DECIDE, _one, "Inbox"),
)
