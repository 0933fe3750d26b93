"""Whether the last daemon on a journal ended with everything stored that it did."""

from orchestrator.journal.db.database import Database
from orchestrator.journal.db.liveness import set_meta

CLEAN = "clean_shutdown"


def record_clean_end(db: Database) -> None:
    """Store that the daemon ends with everything stored that it did."""
    set_meta(db, CLEAN, 1)


def consume_clean_end(db: Database) -> bool:
    """Return whether the daemon before this one ended so, if there was one; this one has yet to."""
    db.execute("DELETE FROM meta WHERE k = ?", (CLEAN,))
    return db.changes() > 0 or not db.execute("SELECT 1 FROM meta WHERE k = 'epoch'").get
