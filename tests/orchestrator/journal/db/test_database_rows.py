"""Rows as records, and distinct values, which are found by seeking from one to the next."""

from dataclasses import dataclass
from itertools import count

import apsw
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Json

from orchestrator.journal.db.database import Rows, build_distinct_query

SOUGHT = build_distinct_query("row", "chat", "waits")


@dataclass(frozen=True)
class Note:
    """A row with a value of each kind that SQLite does not have."""

    id: int
    done: bool
    tags: Json[tuple[str, ...]]
    text: str | None


NOTES = Rows(Note, "note")


def test_row_becomes_a_record_with_values_of_its_types() -> None:
    """Integers become booleans, JSON becomes its value, and NULL becomes None."""
    db = apsw.Connection(":memory:")
    db.execute("CREATE TABLE note(id, done, tags, text)")
    db.execute("""INSERT INTO note VALUES(1, 1, '["a"]', NULL), (2, 0, '[]', 'x')""")
    assert NOTES.select(db, "true ORDER BY id DESC") == [
        Note(2, done=False, tags=(), text="x"),
        Note(1, done=True, tags=("a",), text=None),
    ]
    assert NOTES.find_first(db, "id > ? ORDER BY id", 1) == Note(2, done=False, tags=(), text="x")
    assert NOTES.find_first(db, "id > ?", 2) is None


def filled(rows: list[tuple[str, bool]]) -> apsw.Connection:
    """A table of rows that wait or do not, with an index of those that do."""
    db = apsw.Connection(":memory:")
    db.execute("CREATE TABLE row(id INTEGER PRIMARY KEY, chat TEXT, waits INTEGER)")
    db.execute("CREATE INDEX waiting ON row(chat, id) WHERE waits")
    db.executemany("INSERT INTO row(chat, waits) VALUES(?, ?)", rows)
    return db


def effort(db: apsw.Connection) -> int:
    """Count the instructions of SQLite that the query takes."""
    steps = count()
    db.set_progress_handler(lambda: next(steps) < 0, 1)
    db.execute(SOUGHT).fetchall()
    db.set_progress_handler(None)
    return next(steps)


@given(st.lists(st.tuples(st.text("abc", max_size=2), st.booleans())))
def test_same_values_are_found_as_by_reading_all_rows(rows: list[tuple[str, bool]]) -> None:
    """Whatever waits, each value once."""
    found = filled(rows).execute(SOUGHT).fetchall()
    assert found == [(chat,) for chat in sorted({chat for chat, waits in rows if waits})]


def test_deep_backlog_is_no_more_effort_than_a_short_one() -> None:
    """Only the number of chats counts, so a wake costs the same however much waits."""
    short, deep = (filled([("a", True), ("b", True), ("b", False)] * n) for n in (1, 1000))
    assert effort(deep) == effort(short)
