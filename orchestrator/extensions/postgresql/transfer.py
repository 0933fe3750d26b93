"""Copy a whole journal into an empty one: from SQLite to PostgreSQL, or back.

All rows are copied in one transaction and checked before it ends: their numbers, the journal's
invariants, and the chain of the audit log. Both schemas have the same tables and columns under the
same names.
"""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from orchestrator.errors import JournalError
from orchestrator.journal.db import audit, row_times
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.dialect import EARLIER
from orchestrator.journal.inspect import invariants

ROWS = 500  # copied at a time
# In order: a row comes after the rows that it refers to. Triggers write into the last two.
TABLES = (
    "meta",
    "audit",
    "channel_offset",
    "inbox",
    "media",
    "attachment",
    "pairing",
    "handoff",
    "request",
    "session",
    "message",
    "search_scope",
    "turn",
    "prompt_part",
    "turn_prompt",
    "step",
    "trial",
    "trial_turn",
    "saved_turn",
    "approval",
    "standing_approval",
    "subagent",
    "subagent_run",
    "outbox",
    "model_call",
    "pause",
    "pause_told",
    "fact",
    "fact_gone",
    "memory_card",
    "fact_vector",
    "message_vector",
    "profile",
    "profile_change",
    "playbook",
    "playbook_seed",
    "task",
    "task_run",
    "tool_pin",
    "tool_list",
    "chat_move",
    "held",
    "web_session",
    "web_invite",
    "call_verdict",
    "sent_spans",
    "tool_file",
    "degradation",
    "conversation",
    "conversation_item",
    "playbook_state",
    "transition",
)
# The index of messages is not copied: the daemon makes it anew, see `message_index`.
UNINDEXED = """INSERT INTO meta SELECT 'search_filling', (SELECT max(id) FROM message) || ' ' ||
  (SELECT max(id) FROM session) || ' 0' WHERE EXISTS(SELECT 1 FROM message)
  ON CONFLICT(k) DO UPDATE SET v = excluded.v"""
BY_AGE = {"turn": "rowid", "web_session": "rowid"}  # tables whose rows have an order of their own


class CopyCounts(NamedTuple):
    """The numbers of copied rows and tables."""

    rows: int
    tables: int


def copy_rows(source: Database, target: Database) -> CopyCounts:
    """Copy all rows of one state of a journal; the caller commits.

    Raises:
        JournalError: the target already has rows, or differs from the source.
    """
    for table in TABLES:
        if table != "meta" and _count_table_rows(target, table):
            raise JournalError(f"the target already has a journal (rows in {table!r}); empty it")
    copied = {table: _copy_table(source, target, table) for table in TABLES}
    if (arrived := count_all_rows(target)) != copied:
        raise JournalError(f"not all rows arrived: {copied} sent, {arrived} stored")
    if (broken := invariants.check_invariants(target)) != invariants.check_invariants(source):
        raise JournalError(f"the copy violates the journal's invariants: {broken[:3]}")
    if audit.find_broken_entry(target) != audit.find_broken_entry(source):
        raise JournalError("the chain of the audit log differs in the copy")
    target.execute(UNINDEXED)
    row_times.note_runs(target, {"turn": 0})  # whose rows have new numbers
    target.execute("DELETE FROM meta WHERE k = ?", (EARLIER,))
    return CopyCounts(sum(copied.values()), sum(bool(count) for count in copied.values()))


def count_all_rows(db: Database) -> dict[str, int]:
    """Return the number of rows in each table."""
    return {table: _count_table_rows(db, table) for table in TABLES}


def _copy_table(source: Database, target: Database, table: str) -> int:
    target.execute(f"DELETE FROM {table}")  # what triggers wrote meanwhile
    if not _count_table_rows(source, table):
        return 0
    rows, names = _read_rows(source, table)
    quoted = ", ".join(f'"{name}"' for name in names)
    places = ", ".join("?" * len(names))
    insert = f"INSERT INTO {table}({quoted}) VALUES({places})"
    count = 0
    while some := list(islice(rows, ROWS)):
        target.executemany(insert, some)
        count += len(some)
    return count


def _read_rows(source: Database, table: str) -> tuple[Iterator[tuple[object, ...]], list[str]]:
    """Return the rows of a table, oldest first, and the names of their columns."""
    order = BY_AGE.get(table, "1")
    cursor = source.execute(f"SELECT * FROM {table} ORDER BY {order}")
    names = [str(column[0]) for column in cursor.description]
    if "rowid" in names:  # the target numbers rows itself
        kept = [place for place, name in enumerate(names) if name != "rowid"]
        return (
            (tuple(row[place] for place in kept) for row in cursor),
            [names[place] for place in kept],
        )
    return iter(cursor), names


def _count_table_rows(db: Database, table: str) -> int:
    return int(db.execute(f"SELECT count(*) FROM {table}").get)
