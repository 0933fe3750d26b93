"""Liveness: when the daemon last ran, and whether it can write."""

import apsw


def seen(db: apsw.Connection, now: int) -> int | None:
    """Store that the daemon runs at ``now`` and return the previous time (milliseconds)."""
    before = db.execute("SELECT v FROM meta WHERE k = 'alive_at'").get
    set_meta(db, "alive_at", now)
    return None if before is None else int(before)


def prove_writable(db: apsw.Connection, now: int) -> None:
    """Write a value that has no other use; ``now`` in milliseconds."""
    set_meta(db, "checked_at", now)


def proven(db: apsw.Connection) -> int:
    """Return when `prove_writable` last wrote, in milliseconds; 0 for never."""
    return int(db.execute("SELECT v FROM meta WHERE k = 'checked_at'").get or 0)


def set_meta(db: apsw.Connection, key: str, value: int) -> None:
    db.execute(
        "INSERT INTO meta VALUES(?,?) ON CONFLICT DO UPDATE SET v = excluded.v", (key, str(value))
    )
