"""Liveness: when the daemon last ran, and whether it can write."""

from orchestrator.journal.db.database import Database

CLEAN = "clean_shutdown"


def seen(db: Database, now: int) -> int | None:
    """Store that the daemon runs at ``now`` and return the previous time (milliseconds)."""
    before = db.execute("SELECT v FROM meta WHERE k = 'alive_at'").get
    set_meta(db, "alive_at", now)
    return None if before is None else int(before)


def prove_writable(db: Database, now: int) -> None:
    """Write a value that has no other use; ``now`` in milliseconds."""
    set_meta(db, "checked_at", now)


def proven(db: Database) -> int:
    """Return when `prove_writable` last wrote, in milliseconds; 0 for never."""
    return int(db.execute("SELECT v FROM meta WHERE k = 'checked_at'").get or 0)


def ended_cleanly(db: Database) -> None:
    """Store that the daemon ends with everything stored that it did."""
    set_meta(db, CLEAN, 1)


def was_clean(db: Database) -> bool:
    """Return whether the daemon before this one ended so, if there was one; this one has yet to."""
    db.execute("DELETE FROM meta WHERE k = ?", (CLEAN,))
    return db.changes() > 0 or not db.execute("SELECT 1 FROM meta WHERE k = 'epoch'").get


def starts(db: Database) -> int:
    """Return how many daemons have begun to work with this journal; each has an epoch."""
    return int(db.execute("SELECT v FROM meta WHERE k = 'epoch'").get or 0)


def set_meta(db: Database, key: str, value: int) -> None:
    db.execute(
        "INSERT INTO meta VALUES(?,?) ON CONFLICT(k) DO UPDATE SET v = excluded.v",
        (key, str(value)),
    )
