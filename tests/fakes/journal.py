"""Journals in files of their own, and functions that create their first rows."""

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from importlib import import_module
from pathlib import Path

import apsw
from fakes.postgresql import BROKEN_RULES, POSTGRESQL, connect_to, database_of

from orchestrator.channel_api import InboundMessage
from orchestrator.journal.db.database import Connection, Database
from orchestrator.journal.db.sqlite_storage import open_database
from orchestrator.journal.db.store import STORAGE_RETRY, Store
from orchestrator.journal.inspect import invariants
from orchestrator.journal.migrations import read_tables
from orchestrator.journal.opening import open_for_reading, open_store
from orchestrator.journal.turns import inbox, steps, turns
from orchestrator.journal.turns.inbox import Arrival, InboxRow, Offset
from orchestrator.journal.turns.steps import Call
from orchestrator.journal.turns.turns import Turn, TurnAdmission
from orchestrator.journal_address import DatabaseServer, JournalAddress
from thinker.protocol.messages import AssistantMessage, JsonObject, SideEffect, ToolCall
from thinker.protocol.methods import PlannedCall, StepCommit

CLASSES = {
    "read": SideEffect.PURE,
    "note": SideEffect.LOCAL_TX,
    "pay": SideEffect.KEYED,
    "check": SideEffect.VERIFIABLE,
}  # every other tool is non-idempotent
REFUSED = (apsw.ConstraintError, *BROKEN_RULES)  # by a rule of the tables


def address_of(folder: Path) -> JournalAddress:
    """Where the journal of a folder is: a file, or a database in a run with PostgreSQL."""
    file = folder / "journal.db"
    return DatabaseServer(database_of(folder), file) if POSTGRESQL else file


def store_in(folder: Path, retry: float = STORAGE_RETRY) -> Store:
    """The open journal of a folder, as a daemon has it."""
    return open_store(address_of(folder), retry)


def connection_in(folder: Path) -> Connection:
    """A connection to the journal of a folder, beside those of its daemon."""
    if POSTGRESQL:
        return connect_to(database_of(folder))
    return open_database(folder / "journal.db")


def reading_in(folder: Path) -> AbstractContextManager[Database]:
    """One state of the journal of a folder."""
    return open_for_reading(address_of(folder))


@contextmanager
def sqlite(folder: Path) -> Iterator[apsw.Connection]:
    """`opened`, for tests of what SQLite does with a statement."""
    with closing(open_database(folder / "journal.db")) as db:
        yield db


@contextmanager
def opened(folder: Path) -> Iterator[Connection]:
    """Open the journal of a folder and close it after the block."""
    with closing(connection_in(folder)) as db:
        yield db


def end_cleanly(folder: Path) -> None:
    """Let the process that opened the journal last have ended as it should."""
    if POSTGRESQL:  # SQLite's connections have left nothing behind
        ends = import_module("orchestrator.extensions.postgresql.clean_end")
        with opened(folder) as db:
            ends.record_clean_end(db)


@contextmanager
def booted(folder: Path) -> Iterator[Connection]:
    """Open a journal under its first epoch; after the block its invariants hold."""
    with opened(folder) as db:
        with job(db):
            turns.boot(db, 0)
        yield db
        assert invariants.check_invariants(db) == []


def read_contents(db: Database) -> dict[str, list[object]]:
    """Everything in a journal, by table."""
    names = re.findall(r"CREATE TABLE (\w+)", read_tables())
    return {name: [*db.execute(f"SELECT * FROM {name}")] for name in names}  # noqa: S608 - names of tables


@contextmanager
def job(db: Database) -> Iterator[None]:
    """Run the block in a transaction, as `Store` does: one that waits for another writer."""
    if db.in_transaction:  # a job within a job
        with db:
            yield
        return
    # `with db` would wait for the other writer with Python's lock in hand, which that one needs.
    db.execute("BEGIN IMMEDIATE" if isinstance(db, apsw.Connection) else "BEGIN")
    try:
        yield
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def update(number: int, text: str = "hello", chat_id: str = "7") -> InboundMessage:
    """A private Telegram message; ``number`` is its update and message id."""
    return InboundMessage(
        channel="telegram",
        bot_id="1",
        chat_id=chat_id,
        message_id=str(number),
        sender_id=chat_id,
        text=text,
        update_id=number,
        sender_name="Ann",
    )


def receive(db: Database, *messages: InboundMessage, now: int = 0) -> list[int]:
    """T1 of admitted messages."""
    offset = Offset("telegram", "1", max(message.update_id or 0 for message in messages) + 1)
    with job(db):
        return inbox.ingest(db, [Arrival(message) for message in messages], offset, now)


def next_turn(
    db: Database, turn_id: str, chat_id: str = "7", *, epoch: int = 1, now: int = 0
) -> Turn | None:
    """T2 for the message of a chat that is next in line, for the agent ``work``."""
    with job(db):
        row = inbox.find_oldest_new(db, inbox.build_chat_key("telegram", "1", chat_id, None))
        assert row is not None
        return turns.admit_message(db, row, TurnAdmission(turn_id, "work", epoch, 15, "1"), now)


def open_turn(db: Database, turn_id: str = "t1", text: str = "hello") -> Turn:
    """A turn that has just begun, under a fresh epoch of 1."""
    if not db.execute("SELECT 1 FROM meta").get:
        with job(db):
            turns.boot(db, 0)
    receive(db, update(int(turn_id.strip("t")), text))
    turn = next_turn(db, turn_id)
    assert turn is not None
    return turn


def step(
    turn_id: str,
    *tools: str,
    content: str = "",
    rejected: str | None = None,
    arguments: JsonObject | None = None,
) -> StepCommit:
    """A response that calls tools; all of them rejected if ``rejected`` is given.

    Without ``arguments`` each call has its number as ``n``.
    """
    calls = [ToolCall(id=f"c{n}", name=name) for n, name in enumerate(tools)]
    return StepCommit(
        turn_id=turn_id,
        response=AssistantMessage(content=content, tool_calls=tuple(calls)),
        calls=tuple(
            PlannedCall(
                id=call.id,
                name=call.name,
                arguments={"n": n} if arguments is None else arguments,
                rejected=rejected,
            )
            for n, call in enumerate(calls)
        ),
        model="demo/demo",
    )


def planned(
    db: Database, turn_id: str, *tools: str, arguments: JsonObject | None = None
) -> list[Call]:
    """T3 of a response that calls tools; the calls as the journal holds them."""
    with job(db):
        committed = steps.plan(db, step(turn_id, *tools, arguments=arguments), CLASSES, 1, 1)
    return [call(db, turn_id, seq) for seq in committed.call_seqs]


def call(db: Database, turn_id: str, seq: int) -> Call:
    """A tool call that exists."""
    found = steps.find_call(db, turn_id, seq)
    assert found is not None
    return found


def row_of(db: Database, turn_id: str) -> InboxRow:
    """The one message of a turn."""
    (row,) = inbox.list_opening_messages(db, turn_id)
    return row
