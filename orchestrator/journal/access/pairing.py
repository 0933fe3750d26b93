"""Pairing: chats that an operator has approved, and chats that ask for it.

Where: does a pairing code admit a chat?
"""

from dataclasses import dataclass

from orchestrator import chat_texts
from orchestrator.channel_api import ChatRole
from orchestrator.journal.db import audit
from orchestrator.journal.db.database import Database, Rows
from orchestrator.journal.turns import held_messages, outbox
from orchestrator.journal.turns.outbox import Address
from thinker.protocol.names import ChatName

CODE_LIFETIME = 3_600_000  # milliseconds: an hour to read a code to the operator
REFUSED_FOR = 86_400_000  # milliseconds until a refused chat may ask again: a day
IS_REFUSED = f"state = 'revoked' AND expires_at - decided_at >= {REFUSED_FOR}"
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
    role: ChatRole | None = None  # None before the approval, and for pairings from before roles


PAIRINGS = Rows(Pairing, "pairing")


def request_pairing(
    db: Database, chat: Address, name: str, code: str, now: int, sender_id: str = ""
) -> str | None:
    """Give an unknown chat of a person a code and return it.

    None if the chat has a valid code, is approved or revoked, or `MAX_PENDING` codes are open.
    """
    delete_expired_codes(db, now)
    known = PAIRINGS.find_first(db, "channel = ? AND chat_id = ?", chat.channel, chat.chat_id)
    pending = db.execute("SELECT count(*) FROM pairing WHERE state = 'pending'").get
    if known is not None or int(pending) >= MAX_PENDING:
        return None
    db.execute(
        "INSERT INTO pairing(channel, bot_id, chat_id, name, code, state, created_at, expires_at,"
        " sender_id) VALUES(?,?,?,?,?,'pending',?,?,?)",
        (chat.channel, chat.bot_id, chat.chat_id, name, code, now, now + CODE_LIFETIME, sender_id),
    )
    return code


def delete_expired_codes(db: Database, now: int) -> int:
    """Delete expired codes and refusals with the chats' messages; return their number."""
    expired = db.execute(
        f"DELETE FROM pairing WHERE expires_at < ? AND (state = 'pending' OR {IS_REFUSED})"
        " RETURNING channel, chat_id",
        (now,),
    ).fetchall()
    for channel, chat_id in expired:
        held_messages.delete_held_texts(db, str(channel), str(chat_id))
    return len(expired)


def has_pending_code(db: Database, channel: str, chat_id: str) -> bool:
    """Return whether a chat has a code that an operator may still approve."""
    where = "channel = ? AND chat_id = ? AND state = 'pending'"
    return PAIRINGS.find_first(db, where, channel, chat_id) is not None


def find_waiting_chat(db: Database, code: str, now: int) -> Pairing | None:
    """Return the chat with this code, in upper or lower case, unless the code has expired."""
    where = "code = ? AND state = 'pending' AND expires_at >= ?"
    return PAIRINGS.find_first(db, where, code.upper(), now)


def approve(db: Database, code: str, now: int, role: ChatRole | None = None) -> Pairing | None:
    """Approve the chat with this code; None if the code is unknown or expired.

    Case is ignored. The chat gets a notice, and its messages so far are answered. Without a
    ``role`` the first chat may operate, and later ones may talk.
    """
    first = PAIRINGS.find_first(db, "state = 'approved'") is None
    row = db.execute(
        "UPDATE pairing SET state = 'approved', code = NULL, decided_at = ?, role = ?"
        " WHERE code = ? AND state = 'pending' AND expires_at >= ?"
        " RETURNING channel, bot_id, chat_id",
        (now, role or ("operate" if first else "talk"), code.upper(), now),
    ).fetchone()
    if row is None:
        return None
    chat = Address(str(row[0]), str(row[1]), str(row[2]))
    answers = held_messages.release(db, chat.channel, chat.chat_id)
    text = f"{chat_texts.PAIRED} {chat_texts.PAIRED_ANSWERS}" if answers else chat_texts.PAIRED
    outbox.add_notice(db, chat, text, now)
    audit.record_decision(db, "operator", "pairing approved", chat.name, now)
    return PAIRINGS.find_first(db, "channel = ? AND chat_id = ?", chat.channel, chat.chat_id)


def change_role(
    db: Database, channel: str, chat_id: str, role: ChatRole, now: int
) -> Pairing | None:
    """Give an approved chat another role; None if the chat is not approved."""
    where = "channel = ? AND chat_id = ? AND state = 'approved'"
    db.execute(f"UPDATE pairing SET role = ? WHERE {where}", (role, channel, chat_id))
    found = PAIRINGS.find_first(db, where, channel, chat_id)
    if found is not None:
        name = str(ChatName(channel, chat_id))
        audit.record_decision(db, "operator", f"pairing may {role}", name, now)
    return found


def revoke_pairing(db: Database, channel: str, chat_id: str, now: int) -> bool:
    """Revoke the pairing of a chat, which stays known as revoked; False if it is unknown.

    Messages that it wrote while it waited stay unanswered, and their text is removed.
    """
    db.execute(
        "UPDATE pairing SET state = 'revoked', code = NULL, decided_at = ?"
        " WHERE channel = ? AND chat_id = ?",
        (now, channel, chat_id),
    )
    if not db.changes():
        return False
    held_messages.delete_held_texts(db, channel, chat_id)
    audit.record_decision(db, "operator", "pairing revoked", str(ChatName(channel, chat_id)), now)
    return True


def list_pairings(db: Database) -> list[Pairing]:
    """Return all chats that ever asked to be paired, oldest first."""
    return PAIRINGS.select(db, "true ORDER BY created_at, chat_id")


def load_roles(
    db: Database, channel: str | None = None, chat_id: str | None = None
) -> dict[tuple[str, str], ChatRole]:
    """Return the roles of the approved chats and of their people, keyed by channel and id.

    Of all chats, or of one. Pairings from before roles may operate.
    """
    rows = db.execute(
        "SELECT channel, chat_id, sender_id, coalesce(role, 'operate') FROM pairing"
        " WHERE state = 'approved' AND channel = coalesce(?, channel)"
        " AND chat_id = coalesce(?, chat_id)",
        (channel, chat_id),
    )
    found: dict[tuple[str, str], ChatRole] = {}
    for place, chat, sender, role in rows:
        found |= {(str(place), str(name)): role for name in (chat, sender) if name}
    return found
