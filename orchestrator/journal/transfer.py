"""Move a whole journal into another, empty one: from SQLite to PostgreSQL, or back.

All rows are copied in one transaction and compared before it ends: their numbers, the promises that
the journal must keep, and the chain of the audit log. Both schemas have the same tables and columns
under the same names.
"""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from orchestrator.errors import JournalError
from orchestrator.journal.db import audit
from orchestrator.journal.db.database import Database
from orchestrator.journal.inspect import invariants

ROWS = 500  # copied at a time
# In order: a row comes after the rows that it refers to. Triggers write into the last two.
TABLES = (
    *("meta", "audit", "channel_offset", "inbox", "media", "attachment", "pairing", "handoff"),
    *("request", "session", "message", "turn", "prompt_part", "turn_prompt", "step", "approval"),
    *("subagent", "subagent_run", "outbox", "model_call", "pause", "pause_told", "fact"),
    *("fact_vector", "profile", "profile_change", "playbook", "playbook_seed", "task", "task_run"),
    *("tool_pin", "tool_list", "chat_move", "held", "web_session", "web_invite", "call_verdict"),
    *("sent_spans", "tool_file", "conversation", "conversation_item"),
    *("playbook_state", "transition"),
)
BY_AGE = {"turn": "rowid", "web_session": "rowid"}  # tables whose rows have an order of their own


class Copied(NamedTuple):
    """How many rows were copied, and in how many tables they are."""

    rows: int
    tables: int


def copy_rows(source: Database, target: Database) -> Copied:
    """Copy all rows of one state of a journal; the caller commits.

    Raises:
        JournalError: the target has rows already, or is not what the source is.
    """
    for table in TABLES:
        if table != "meta" and _count(target, table):
            raise JournalError(f"the target has a journal already (rows in {table!r}); empty it")
    copied = {table: _copy_table(source, target, table) for table in TABLES}
    if (arrived := counts(target)) != copied:
        raise JournalError(f"not all rows arrived: {copied} were sent, {arrived} are there")
    if (broken := invariants.violations(target)) != invariants.violations(source):
        raise JournalError(f"the copy breaks promises that the journal keeps: {broken[:3]}")
    if audit.verify(target) != audit.verify(source):
        raise JournalError("the chain of the audit log has not arrived as it was")
    return Copied(sum(copied.values()), sum(bool(count) for count in copied.values()))


def counts(db: Database) -> dict[str, int]:
    """Return how many rows each table has."""
    return {table: _count(db, table) for table in TABLES}


def _copy_table(source: Database, target: Database, table: str) -> int:
    target.execute(f"DELETE FROM {table}")  # what triggers wrote meanwhile
    if not _count(source, table):
        return 0
    rows, names = _rows(source, table)
    quoted = ", ".join(f'"{name}"' for name in names)
    places = ", ".join("?" * len(names))
    insert = f"INSERT INTO {table}({quoted}) VALUES({places})"
    count = 0
    while some := list(islice(rows, ROWS)):
        target.executemany(insert, some)
        count += len(some)
    return count


def _rows(source: Database, table: str) -> tuple[Iterator[tuple[object, ...]], list[str]]:
    """Return the rows of a table, oldest first, and the names of their columns."""
    order = BY_AGE.get(table, "1")
    cursor = source.execute(f"SELECT * FROM {table} ORDER BY {order}")
    names = [str(column[0]) for column in cursor.description]
    if "rowid" in names:  # it is counted anew
        kept = [place for place, name in enumerate(names) if name != "rowid"]
        return (
            (tuple(row[place] for place in kept) for row in cursor),
            [names[place] for place in kept],
        )
    return iter(cursor), names


def _count(db: Database, table: str) -> int:
    return int(db.execute(f"SELECT count(*) FROM {table}").get)
