"""Liveness: how many daemons have run, how the last one ended, and whether this one can write."""

from orchestrator.journal.db.database import Database


def prove_writable(db: Database, now: int) -> None:
    """Write a value as a test; ``now`` in milliseconds."""
    set_meta(db, "checked_at", now)


def load_write_proof_time(db: Database) -> int:
    """Return the time of the last write of `prove_writable`, in milliseconds; 0 if never."""
    return int(db.execute("SELECT v FROM meta WHERE k = 'checked_at'").get or 0)


def count_starts(db: Database) -> int:
    """Return the number of daemons that have started on this journal; each has an epoch."""
    return int(db.execute("SELECT v FROM meta WHERE k = 'epoch'").get or 0)


def begin_epoch(db: Database) -> int:
    """Count a start of a daemon; return its epoch, which no other daemon has."""
    sql = (
        "INSERT INTO meta VALUES('epoch', '1') ON CONFLICT(k)"
        " DO UPDATE SET v = CAST(CAST(meta.v AS BIGINT) + 1 AS TEXT) RETURNING v"
    )
    return int(db.execute(sql).get)


def set_meta(db: Database, key: str, value: int | str) -> None:
    db.execute(
        "INSERT INTO meta VALUES(?,?) ON CONFLICT(k) DO UPDATE SET v = excluded.v",
        (key, str(value)),
    )


def lock_meta(db: Database, key: str, first: int | str) -> str:
    """Return a value, ``first`` if there is none; others that want it wait for the transaction."""
    return str(
        db.execute(
            "INSERT INTO meta VALUES(?,?) ON CONFLICT(k) DO UPDATE SET v = meta.v RETURNING v",
            (key, str(first)),
        ).get
    )
