"""Tests of rows as records."""

from dataclasses import dataclass

import apsw
from pydantic import Json

from orchestrator.journal.db.rows import Rows


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
    assert NOTES.first(db, "id > ? ORDER BY id", 1) == Note(2, done=False, tags=(), text="x")
    assert NOTES.first(db, "id > ?", 2) is None
