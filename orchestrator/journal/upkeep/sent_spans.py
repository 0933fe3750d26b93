"""How far a collector of traces has taken what the journal holds."""

from orchestrator.journal.db import row_marks
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.row_marks import RowMark

FOUND = "SELECT transition_id, at, read_at FROM sent_spans"


def begin_spans(db: Database, now: int) -> RowMark:
    """Return the mark of what was taken; the first time, that is all that there is now."""
    for row in db.execute(FOUND):
        return RowMark(*map(int, row))
    mark = row_marks.newest(db, "transition", now)
    move_spans(db, mark)
    return mark


def move_spans(db: Database, mark: RowMark) -> None:
    """Store that all up to the mark was taken, or passed by."""
    db.execute(
        "INSERT INTO sent_spans VALUES(1, ?, ?, ?) ON CONFLICT(id) DO UPDATE SET"
        " transition_id = excluded.transition_id, at = excluded.at, read_at = excluded.read_at",
        mark,
    )
