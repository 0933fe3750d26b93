"""Everything in the journal that waits for a person, and what was decided lately."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from orchestrator.extensions.page.reads import (
    call_verdicts,
    chat_entries,
    decision_log,
    waiting,
)
from orchestrator.extensions.page.reads.answer_costs import OfferedTools, find_called_tools
from orchestrator.extensions.page.reads.call_verdicts import UnconfirmedCall
from orchestrator.extensions.page.reads.decision_log import AuditEntry
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
MAX_DECISIONS = 20  # that are listed at the foot


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
    offered: OfferedTools = MappingProxyType({})
    held: Mapping[tuple[str, str], Sequence[str]] = MappingProxyType({})  # by channel and chat

    def count_items(self) -> int:
        """Count what waits."""
        first = self.questions, self.chats, self.tools, self.calls
        rest = self.dead, self.pauses, self.tasks, self.unconfirmed
        return sum(map(len, (*first, *rest)))


def load_waiting_list(db: Database, now: int) -> WaitingList:
    """Load everything that waits, at most `MAX_ITEMS` of each kind."""
    questions = chat_history.list_open_questions(db, "? = 1", 1, now)[:MAX_ITEMS]
    asking = [
        item
        for item in pairing.list_pairings(db)
        if item.state == "pending" and item.created_at + pairing.CODE_LIFETIME > now
    ][:MAX_ITEMS]
    return WaitingList(
        questions,
        asking,
        [pin for pin in tool_pins.list_pins(db) if pin.needs_approval][:MAX_ITEMS],
        deadletters.list_dead_letters(db)[:MAX_ITEMS],
        pauses.list_pauses(db)[:MAX_ITEMS],
        [task for task in tasks.list_tasks(db) if task.state == "disabled" and task.failures][
            :MAX_ITEMS
        ],
        waiting.list_unconfirmed_messages(db, MAX_ITEMS),
        call_verdicts.list_unconfirmed_calls(db, now, MAX_ITEMS),
        decision_log.list_recent_decisions(db, MAX_DECISIONS),
        find_called_tools(db, questions),
        {
            (item.channel, item.chat_id): chat_entries.list_held_texts(
                db, item.channel, item.chat_id
            )
            for item in asking
        },
    )


def load_question(db: Database, code: str, now: int) -> tuple[list[OpenQuestion], OfferedTools]:
    """Return the open question with a code, if there is one, and its tool."""
    questions = chat_history.list_open_questions(db, "code = ?", code, now)
    return questions, find_called_tools(db, questions)
