"""The audit log: decisions about who may do what, chained by hash so that a gap shows."""

import hashlib

import apsw


def record(db: apsw.Connection, actor: str, act: str, subject: str, now: int) -> None:
    """Append one decision; ``now`` in milliseconds."""
    previous: str = db.execute("SELECT hash FROM audit ORDER BY id DESC LIMIT 1").get or ""
    digest = hashlib.sha256(f"{previous}|{now}|{actor}|{act}|{subject}".encode()).hexdigest()
    db.execute(
        "INSERT INTO audit(at, actor, act, object, prev_hash, hash) VALUES(?,?,?,?,?,?)",
        (now, actor, act, subject, previous, digest),
    )


def verify(db: apsw.Connection) -> int | None:
    """The id of the first entry whose chain is broken, or None."""
    previous = ""
    for row, at, actor, act, subject, before, stored in db.execute(
        "SELECT id, at, actor, act, object, prev_hash, hash FROM audit ORDER BY id"
    ):
        digest = hashlib.sha256(f"{previous}|{at}|{actor}|{act}|{subject}".encode()).hexdigest()
        if before != previous or stored != digest:
            return int(row)
        previous = stored
    return None
