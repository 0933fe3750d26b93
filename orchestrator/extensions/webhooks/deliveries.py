"""Deliveries of webhooks: each is one message, however often it is sent."""

import hashlib
from dataclasses import replace
from typing import NamedTuple

from orchestrator.journal.db import liveness
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import inbox, internal_messages, sessions
from orchestrator.journal.turns.internal_messages import InternalMessage
from orchestrator.journal.turns.outbox import HOOKS, Address

LOCAL = "local"
SIGNED = "hook-signed/"  # before the digest of a signed text, with the end of its time
MAX_SIGNED = 2000  # digests; a sender has the secret, or none is kept


class NewDelivery(NamedTuple):
    """A delivery before it is stored.

    ``id`` is the sender's id, ``text`` the message, ``notify`` the chat for the answer. What was
    ``signed`` counts once in ``once_ms`` milliseconds, as ids need no signature.
    """

    hook: str
    id: str
    agent_id: str
    text: str
    notify: Address | None = None
    signed: bytes = b""
    once_ms: int = 0

    @property
    def own_chat(self) -> Address:
        """The webhook as a chat."""
        return Address(HOOKS, LOCAL, self.hook)


def store_delivery(db: Database, new: NewDelivery, now: int) -> bool:
    """Store a delivery as a message (T1); return False if it was stored before."""
    name = f"{new.hook}/{new.id}"
    known = "SELECT 1 FROM inbox WHERE update_id IS NULL AND message_id = ? AND kind = ?"
    if db.execute(known, (name, inbox.HOOK)).get is not None:
        return False
    if new.once_ms and not _remember_signed_text(db, new, now):
        return False
    message = InternalMessage(inbox.HOOK, name, new.hook, new.agent_id, new.text, "web")
    internal_messages.post(db, _resolve_address(db, new), message, now, new.own_chat.chat_key)
    return True


def _remember_signed_text(db: Database, new: NewDelivery, now: int) -> bool:
    """Return False if the text is known; forget texts whose time is over, and the oldest ones."""
    digest = hashlib.sha256(new.hook.encode() + b"\0" + new.signed).hexdigest()
    ends = f"SELECT k, v FROM meta WHERE k LIKE '{SIGNED}%'"
    known = {str(key): int(end) for key, end in db.execute(ends)}
    if known.get(f"{SIGNED}{digest}", 0) > now:
        return False
    latest = sorted(known, key=known.__getitem__, reverse=True)[: MAX_SIGNED - 1]
    for key in known.keys() - {key for key in latest if known[key] > now}:
        db.execute("DELETE FROM meta WHERE k = ?", (key,))
    liveness.set_meta(db, f"{SIGNED}{digest}", now + new.once_ms)
    return True


def _resolve_address(db: Database, new: NewDelivery) -> Address:
    """Return the answer's address; a moved group is known by its first id."""
    notify = new.notify
    if notify is None:
        return new.own_chat
    known = sessions.find_known_address(db, new.agent_id, notify.channel, notify.chat_id)
    return notify if known is None else replace(known, thread_id=notify.thread_id)
