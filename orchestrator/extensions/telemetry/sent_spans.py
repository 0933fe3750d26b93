"""Track how far a collector of traces has accepted the journal's records."""

from orchestrator.extensions.telemetry import row_marks
from orchestrator.extensions.telemetry.row_marks import RowMark
from orchestrator.journal.db.database import Database

FOUND = "SELECT transition_id, at, read_at FROM sent_spans"


def load_span_mark(db: Database, now: int) -> RowMark:
    """Return the mark of accepted records; at first, the journal's present end."""
    for row in db.execute(FOUND):
        return RowMark(*map(int, row))
    mark = row_marks.load_newest_mark(db, "transition", now)
    store_span_mark(db, mark)
    return mark


def store_span_mark(db: Database, mark: RowMark) -> None:
    """Store that everything up to the mark was accepted or skipped."""
    db.execute(
        "INSERT INTO sent_spans VALUES(1, ?, ?, ?) ON CONFLICT(id) DO UPDATE SET"
        " transition_id = excluded.transition_id, at = excluded.at, read_at = excluded.read_at",
        mark,
    )
