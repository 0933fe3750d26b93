"""Whether the last daemon on a journal stopped with all its work stored."""

from orchestrator.journal.db.database import Database
from orchestrator.journal.db.liveness import set_meta

CLEAN = "clean_shutdown"


def record_clean_end(db: Database) -> None:
    """Record that the daemon stops with all its work stored."""
    set_meta(db, CLEAN, 1)


def consume_clean_end(db: Database) -> bool:
    """Return whether the previous daemon, if any, stopped cleanly, and clear its record."""
    db.execute("DELETE FROM meta WHERE k = ?", (CLEAN,))
    return db.changes() > 0 or not db.execute("SELECT 1 FROM meta WHERE k = 'epoch'").get
