"""Liveness: when the daemon last ran, and whether it can write."""

import apsw


def seen(db: apsw.Connection, now: int) -> int | None:
    """Store that the daemon runs at ``now`` and return the previous time (milliseconds)."""
    before = db.execute("SELECT v FROM meta WHERE k = 'alive_at'").get
    db.execute(
        "INSERT INTO meta VALUES('alive_at', ?) ON CONFLICT DO UPDATE SET v = excluded.v",
        (str(now),),
    )
    return None if before is None else int(before)


def prove_writable(db: apsw.Connection, now: int) -> None:
    """Write a value that has no other use; ``now`` in milliseconds."""
    db.execute(
        "INSERT INTO meta VALUES('checked_at', ?) ON CONFLICT DO UPDATE SET v = excluded.v",
        (str(now),),
    )
