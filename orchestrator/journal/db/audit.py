"""The audit log: decisions about access, chained by hash so that a missing entry shows."""

import hashlib
from collections.abc import Collection

import orjson

from orchestrator.journal.db.database import Database

FORGOTTEN = "(forgotten)"


def record(db: Database, actor: str, act: str, subject: str, now: int) -> None:
    """Append a decision; ``now`` in milliseconds."""
    previous: str = db.execute("SELECT hash FROM audit ORDER BY id DESC LIMIT 1").get or ""
    db.execute(
        "INSERT INTO audit(at, actor, act, object, prev_hash, hash) VALUES(?,?,?,?,?,?)",
        (now, actor, act, subject, previous, _digest(previous, now, actor, act, subject)),
    )


def verify(db: Database) -> int | None:
    """Return the id of the first entry whose hash is wrong, or None."""
    previous = ""
    for row, before, stored, *entry in db.execute(
        "SELECT id, prev_hash, hash, at, actor, act, object FROM audit ORDER BY id"
    ):
        if before != previous or stored != _digest(previous, *entry):
            return int(row)
        previous = stored
    return None


def blank(db: Database, names: Collection[str]) -> None:
    """Remove names from the entries by or about them, and compute the hash chain anew.

    The kind and the time of each decision are kept.
    """
    previous = ""
    entries = db.execute("SELECT id, at, actor, act, object FROM audit ORDER BY id").fetchall()
    for row, at, *words in entries:
        actor, act, subject = map(str, words)
        if subject in names or subject.partition(":")[0] in names:
            act, subject = act.partition(":")[0], FORGOTTEN
        actor = FORGOTTEN if actor in names else actor
        digest = _digest(previous, at, actor, act, subject)
        db.execute(
            "UPDATE audit SET actor = ?, act = ?, object = ?, prev_hash = ?, hash = ? WHERE id = ?",
            (actor, act, subject, previous, digest, row),
        )
        previous = digest


def _digest(previous: str, *entry: object) -> str:
    return hashlib.sha256(orjson.dumps([previous, *entry])).hexdigest()
