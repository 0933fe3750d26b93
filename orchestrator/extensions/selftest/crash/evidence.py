"""The evidence of a history for the checks: the journal's rows and the ledger's events."""

import re
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import apsw

from orchestrator.errors import JournalError
from orchestrator.extensions.selftest.crash.fake_telegram import PREVIEW_MARK
from orchestrator.extensions.selftest.crash.ledger import LedgerEvent
from orchestrator.extensions.selftest.crash.scenario import Scenario
from orchestrator.journal import opening
from orchestrator.journal.db.database import Database
from orchestrator.journal.inspect import invariants
from orchestrator.journal_address import JournalAddress

MARK = re.compile(r"\b\w+#\w+\b")
WARNING = "⚠️"  # the beginning of a warning that the daemon adds to a reply
LATE = "⚠️ I couldn't confirm that this reached you"  # the beginning of a quoted earlier reply
OPEN_OUTBOX = ("queued", "ph_sending", "ph_sent", "sending")
TERMINAL = ("done", "dead", "cancelled")
Row = TypeVar("Row")


@dataclass(frozen=True)
class MessageRow:
    """A row of ``inbox``; ``update_id`` is None for the daemon's own messages."""

    id: int
    update_id: int | None
    chat_id: str
    text: str
    state: str
    turn_id: str | None
    claims: int


@dataclass(frozen=True)
class TurnRow:
    """A row of ``turn``; ``number`` orders turns by their start."""

    number: int
    id: str
    chat_key: str
    agent_id: str
    recipe: str
    state: str
    epoch: int
    stop_reason: str | None


@dataclass(frozen=True)
class StepRow:
    """A row of ``step``; ``side_effect`` is its class, times are in ms since the epoch."""

    turn_id: str
    seq: int
    kind: str
    name: str
    side_effect: str
    args: str | None
    idem_key: str | None
    state: str
    result: str | None
    usage: str | None
    epoch: int
    t_intent: int | None
    t_end: int | None


@dataclass(frozen=True)
class ReplyRow:
    """A row of ``outbox``."""

    id: int
    turn_id: str | None
    chat_id: str
    mode: str
    body: str
    final: int
    state: str


@dataclass(frozen=True)
class ApprovalRow:
    """A row of ``approval``."""

    turn_id: str
    seq: int
    state: str


@dataclass(frozen=True)
class RunRow:
    """A row of ``task_run`` with its task's name; times are in ms since the epoch.

    ``created_at`` is when the scheduler found it due; ``inbox_id`` is None if the task did not run.
    """

    name: str
    scheduled_at: int
    state: str
    inbox_id: int | None
    created_at: int
    ended_at: int | None


@dataclass(frozen=True)
class TaskRow:
    """A row of ``task``; ``created_at`` is in ms since the epoch."""

    name: str
    state: str
    created_at: int


@dataclass(frozen=True)
class JournalRows:
    """The journal at one moment. ``violations`` are of the journal's own invariants."""

    inbox: tuple[MessageRow, ...] = ()
    turns: tuple[TurnRow, ...] = ()
    steps: tuple[StepRow, ...] = ()
    outbox: tuple[ReplyRow, ...] = ()
    approvals: tuple[ApprovalRow, ...] = ()
    runs: tuple[RunRow, ...] = ()
    tasks: tuple[TaskRow, ...] = ()
    offset: int = 0
    epoch: int = 0
    facts: tuple[str, ...] = ()
    violations: tuple[str, ...] = ()
    message_states: tuple[tuple[int, str], ...] = ()  # ids of messages, and states as they came
    readable: bool = True

    def describe_unsettled(self) -> str:
        """Describe the unfinished work; empty when there is none."""
        if not self.readable:
            return "the journal cannot be read"
        open_rows = [row.text for row in self.inbox if row.state not in TERMINAL]
        open_turns = [turn.state for turn in self.turns if turn.state in ("running", "replied")]
        open_out = [row.body[:20] for row in self.outbox if row.state in OPEN_OUTBOX]
        tasks = [task.name for task in self.tasks if task.state == "active"]
        tasks += [run.name for run in self.runs if run.state == "due"]
        if not (open_rows or open_turns or open_out or tasks):
            return ""
        return f"messages {open_rows}, turns {open_turns}, outbox {open_out}, tasks {tasks}"


@dataclass(frozen=True)
class Death:
    """The journal on disk after a supervisor's death, and the offset that Telegram had confirmed.

    ``plans`` are two recovery plans for a copy of the journal.
    """

    journal: JournalRows
    confirmed: int
    plans: tuple[str, ...] = ()


@dataclass(frozen=True)
class Evidence:
    """The evidence of one history.

    ``kills`` counts the verified kills, ``boots`` the starts whose T0 was committed, and
    ``worker_deaths`` the deaths that certainly interrupted a turn and that a supervisor saw.
    ``sleeps`` says that a machine may have slept within a call, and ended the call on waking.
    ``interrupts`` says that a newer message ends the current turn.
    """

    scenario: Scenario
    journal: JournalRows
    events: tuple[LedgerEvent, ...]
    deaths: tuple[Death, ...] = ()
    kills: int = 0
    boots: int = 1
    worker_deaths: int = 0
    sleeps: bool = False
    interrupts: bool = False

    @cached_property
    def visible_texts(self) -> dict[int, dict[int, str]]:
        """Return the final text of each message by its id, for each chat."""
        chats: dict[int, dict[int, str]] = {}
        for event in self.events:
            if event.kind == "shown":
                chats.setdefault(event.chat, {})[event.number] = event.text
        return chats

    def list_marks(self, chat: int) -> list[str]:
        """Return the marks that a chat shows at the end, without previews and quoted replies.

        A reply may appear twice if the chat is told so before the second.
        """
        marks: list[str] = []
        unsure = False
        for text in self.visible_texts.get(chat, {}).values():
            marks += [mark for mark in parse_marks(text) if not (unsure and mark in marks)]
            told = text.startswith(LATE) and "\n" not in text
            unsure = told or (unsure and text.endswith(PREVIEW_MARK))
        return marks

    def count_strays(self) -> dict[int, int]:
        """Count the placeholders and previews in each chat that never became a message."""
        return {
            chat: sum(text.endswith(PREVIEW_MARK) for text in messages.values())
            for chat, messages in self.visible_texts.items()
        }

    def list_unconfirmed_texts(self, chat: int) -> list[str]:
        """Return the texts that a chat's next reply reports as possibly lost.

        This happens in chats whose messages are sent once.
        """
        rows = (row for row in self.journal.outbox if row.chat_id == str(chat))
        return [row.body for row in rows if (row.mode, row.state) == ("direct", "unknown")]

    def list_unknown_steps(self) -> list[StepRow]:
        return [step for step in self.journal.steps if step.state == "unknown"]


def parse_marks(text: str) -> list[str]:
    """Return the marks of a finished message; previews have none and quotes do not count."""
    if text.endswith(PREVIEW_MARK):
        return []
    if text.startswith(LATE):  # a quote may have several paragraphs; the answer comes last
        text = ["", *(part for part in text.split("\n\n") if not part.startswith(WARNING))][-1]
    return MARK.findall(text)


def read_journal(journal: JournalAddress, *, check: bool = False) -> JournalRows:
    """Read the rows of a journal, none if it is not ready; also ``check`` its invariants."""
    try:
        with _open_snapshot(journal) as db:
            return _read_rows(db, check=check)
    except (apsw.SQLError, apsw.CantOpenError, apsw.BusyError):
        return JournalRows(readable=False)  # not migrated yet, or being opened
    except JournalError:
        return JournalRows(readable=False)  # the server has ended the session


@contextmanager
def _open_snapshot(journal: JournalAddress) -> Iterator[Database]:
    """Open one snapshot of a journal."""
    if not isinstance(journal, Path):
        with opening.open_for_reading(journal) as db:
            yield db
        return
    with closing(apsw.Connection(str(journal), flags=apsw.SQLITE_OPEN_READONLY)) as file:
        file.set_busy_timeout(1000)  # milliseconds
        file.execute("BEGIN")
        yield file


def _read_rows(db: Database, *, check: bool) -> JournalRows:
    def select_rows(kind: Callable[..., Row], query: str) -> tuple[Row, ...]:
        return tuple(kind(*row) for row in db.execute(query))

    offset = db.execute("SELECT max(next) FROM channel_offset").get
    return JournalRows(
        inbox=select_rows(
            MessageRow, "SELECT id, update_id, chat_id, text, state, turn_id, claims FROM inbox"
        ),
        turns=select_rows(
            TurnRow,
            "SELECT rowid, id, chat_key, agent_id, recipe, state, epoch, stop_reason"
            " FROM turn ORDER BY 1",
        ),
        steps=select_rows(
            StepRow,
            "SELECT turn_id, seq, kind, name, class, args, idem_key, state, result, usage, epoch,"
            " t_intent, t_end FROM step",
        ),
        outbox=select_rows(
            ReplyRow, "SELECT id, turn_id, chat_id, mode, body, final, state FROM outbox ORDER BY 1"
        ),
        approvals=select_rows(ApprovalRow, "SELECT turn_id, seq, state FROM approval"),
        runs=select_rows(
            RunRow,
            "SELECT name, scheduled_at, task_run.state, inbox_id, task_run.created_at, ended_at"
            " FROM task_run JOIN task ON task.id = task_id ORDER BY 2",
        ),
        tasks=select_rows(TaskRow, "SELECT name, state, created_at FROM task"),
        offset=int(offset or 0),
        epoch=int(db.execute("SELECT v FROM meta WHERE k = 'epoch'").get or 0),
        facts=tuple(str(fact) for (fact,) in db.execute("SELECT fact FROM fact")),
        violations=tuple(invariants.check_invariants(db)) if check else (),
        message_states=tuple(
            (int(number), str(state))
            for number, state in db.execute(
                "SELECT number, state FROM transition WHERE kind = 'inbox' ORDER BY id"
            )
        ),
    )
