"""Pairing: chats that an operator has approved, and chats that ask for it."""

from dataclasses import dataclass

import apsw

from orchestrator.journal.db import audit
from orchestrator.journal.db.rows import Rows

CODE_LIFETIME = 3_600_000  # milliseconds: an hour to read a code to the operator
MAX_PENDING = 100  # codes at a time, so that strangers cannot fill the disk


@dataclass(frozen=True)
class Pairing:
    """The pairing of a chat; times in milliseconds."""

    channel: str
    chat_id: str
    name: str
    code: str | None
    state: str
    created_at: int


PAIRINGS = Rows(Pairing, "pairing")


def ask(
    db: apsw.Connection, channel: str, chat_id: str, name: str, code: str, now: int
) -> str | None:
    """Give an unknown chat a code and return it.

    None if the chat has a valid code, is approved or revoked, or `MAX_PENDING` codes are open.
    """
    db.execute("DELETE FROM pairing WHERE state = 'pending' AND expires_at < ?", (now,))
    known = PAIRINGS.first(db, "channel = ? AND chat_id = ?", channel, chat_id)
    pending = db.execute("SELECT count(*) FROM pairing WHERE state = 'pending'").get
    if known is not None or int(pending) >= MAX_PENDING:
        return None
    db.execute(
        "INSERT INTO pairing(channel, chat_id, name, code, state, created_at, expires_at)"
        " VALUES(?,?,?,?,'pending',?,?)",
        (channel, chat_id, name, code, now, now + CODE_LIFETIME),
    )
    return code


def approve(db: apsw.Connection, code: str, now: int) -> Pairing | None:
    """Approve the chat with this code; None if the code is unknown or expired."""
    row = db.execute(
        "UPDATE pairing SET state = 'approved', code = NULL, decided_at = ?"
        " WHERE code = ? AND state = 'pending' AND expires_at >= ? RETURNING channel, chat_id",
        (now, code, now),
    ).fetchone()
    if row is None:
        return None
    audit.record(db, "operator", "pairing approved", f"{row[0]}/{row[1]}", now)
    return PAIRINGS.first(db, "channel = ? AND chat_id = ?", *row)


def revoke(db: apsw.Connection, channel: str, chat_id: str, now: int) -> bool:
    """Revoke the pairing of a chat, which stays known as revoked; False if it is unknown."""
    db.execute(
        "UPDATE pairing SET state = 'revoked', code = NULL, decided_at = ?"
        " WHERE channel = ? AND chat_id = ?",
        (now, channel, chat_id),
    )
    if not db.changes():
        return False
    audit.record(db, "operator", "pairing revoked", f"{channel}/{chat_id}", now)
    return True


def every(db: apsw.Connection) -> list[Pairing]:
    """Return all chats that ever asked, oldest first."""
    return PAIRINGS.select(db, "true ORDER BY created_at, chat_id")


def is_approved(db: apsw.Connection, channel: str, chat_id: str) -> bool:
    where = "channel = ? AND chat_id = ? AND state = 'approved'"
    return PAIRINGS.first(db, where, channel, chat_id) is not None


def approved(db: apsw.Connection) -> frozenset[tuple[str, str]]:
    rows = db.execute("SELECT channel, chat_id FROM pairing WHERE state = 'approved'")
    return frozenset((str(channel), str(chat_id)) for channel, chat_id in rows)
