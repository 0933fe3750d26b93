"""Deliveries of webhooks: each is one message, however often it is sent."""

from dataclasses import replace
from typing import NamedTuple

from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import inbox, internal_messages, sessions
from orchestrator.journal.turns.internal_messages import InternalMessage
from orchestrator.journal.turns.outbox import HOOKS, Address

LOCAL = "local"


class NewDelivery(NamedTuple):
    """A delivery before it is stored.

    ``id`` is the sender's id, ``text`` the message, ``notify`` the chat for the answer.
    """

    hook: str
    id: str
    agent_id: str
    text: str
    notify: Address | None = None

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
    message = InternalMessage(inbox.HOOK, name, new.hook, new.agent_id, new.text, "web")
    internal_messages.post(db, _resolve_address(db, new), message, now, new.own_chat.chat_key)
    return True


def _resolve_address(db: Database, new: NewDelivery) -> Address:
    """Return the answer's address; a moved group is known by its first id."""
    notify = new.notify
    if notify is None:
        return new.own_chat
    known = sessions.find_known_address(db, new.agent_id, notify.channel, notify.chat_id)
    return notify if known is None else replace(known, thread_id=notify.thread_id)
