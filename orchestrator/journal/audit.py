"""The audit log: decisions about who may do what, chained by hash so that a gap shows."""

import hashlib

import apsw
import orjson


def record(db: apsw.Connection, actor: str, act: str, subject: str, now: int) -> None:
    """Append one decision; ``now`` in milliseconds."""
    previous: str = db.execute("SELECT hash FROM audit ORDER BY id DESC LIMIT 1").get or ""
    db.execute(
        "INSERT INTO audit(at, actor, act, object, prev_hash, hash) VALUES(?,?,?,?,?,?)",
        (now, actor, act, subject, previous, _digest(previous, now, actor, act, subject)),
    )


def verify(db: apsw.Connection) -> int | None:
    """The id of the first entry whose chain is broken, or None."""
    previous = ""
    for row, before, stored, *entry in db.execute(
        "SELECT id, prev_hash, hash, at, actor, act, object FROM audit ORDER BY id"
    ):
        if before != previous or stored != _digest(previous, *entry):
            return int(row)
        previous = stored
    return None


def _digest(previous: str, *entry: object) -> str:
    return hashlib.sha256(orjson.dumps([previous, *entry])).hexdigest()
