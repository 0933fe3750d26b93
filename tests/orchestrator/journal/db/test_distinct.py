"""Distinct values are found by seeking from one to the next."""

from itertools import count

import apsw
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.journal.db.database import build_distinct_query

SOUGHT = build_distinct_query("row", "chat", "waits")


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
