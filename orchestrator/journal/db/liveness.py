"""Signs of life: when the daemon was last seen, and whether it can write."""

import apsw


def seen(db: apsw.Connection, now: int) -> int | None:
    """Note that the daemon lives at ``now``; when it was last noted, both in milliseconds."""
    before = db.execute("SELECT v FROM meta WHERE k = 'alive_at'").get
    db.execute(
        "INSERT INTO meta VALUES('alive_at', ?) ON CONFLICT DO UPDATE SET v = excluded.v",
        (str(now),),
    )
    return None if before is None else int(before)


def prove_writable(db: apsw.Connection, now: int) -> None:
    """A small write that changes nothing else; ``now`` in milliseconds."""
    db.execute(
        "INSERT INTO meta VALUES('checked_at', ?) ON CONFLICT DO UPDATE SET v = excluded.v",
        (str(now),),
    )
