"""When the daemon was last seen alive, so that a long absence can be told."""

import apsw


def seen(db: apsw.Connection, now: int) -> int | None:
    """Note that the daemon lives at ``now``; when it was last noted, both in milliseconds."""
    before = db.execute("SELECT v FROM meta WHERE k = 'alive_at'").get
    db.execute(
        "INSERT INTO meta VALUES('alive_at', ?) ON CONFLICT DO UPDATE SET v = excluded.v",
        (str(now),),
    )
    return None if before is None else int(before)
