"""The audit log: decisions about access, chained by hash so that a missing entry shows."""

import hashlib

import orjson

from orchestrator.journal.db.database import Database
from orchestrator.journal.db.dialect import DECIDING, get_dialect


def record_decision(db: Database, actor: str, act: str, subject: str, now: int) -> None:
    """Append a decision; ``now`` in milliseconds."""
    get_dialect(db).wait_for_turn(db, DECIDING)
    previous: str = db.execute("SELECT hash FROM audit ORDER BY id DESC LIMIT 1").get or ""
    db.execute(
        "INSERT INTO audit(at, actor, act, object, prev_hash, hash) VALUES(?,?,?,?,?,?)",
        (now, actor, act, subject, previous, hash_entry(previous, now, actor, act, subject)),
    )


def find_broken_entry(db: Database) -> int | None:
    """Return the id of the first entry whose hash is wrong, or None."""
    previous = ""
    for row, before, stored, *entry in db.execute(
        "SELECT id, prev_hash, hash, at, actor, act, object FROM audit ORDER BY id"
    ):
        if before != previous or stored != hash_entry(previous, *entry):
            return int(row)
        previous = stored
    return None


def hash_entry(previous: str, *entry: object) -> str:
    """Return the hash of an entry, which has that of the entry before it."""
    return hashlib.sha256(orjson.dumps([previous, *entry])).hexdigest()
