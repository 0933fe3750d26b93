"""Messages of the daemon's own to an agent, in the line of a chat or in one of their own."""

from dataclasses import dataclass

import apsw

from orchestrator.channel_api import InboundMessage
from orchestrator.journal.turns import inbox
from orchestrator.journal.turns.inbox import Arrival
from orchestrator.journal.turns.outbox import Address


@dataclass(frozen=True)
class Note:
    """A message of the daemon's own to an agent; ``sender`` names what it is about."""

    kind: str
    message_id: str
    sender: str
    agent_id: str
    text: str


def post(
    db: apsw.Connection, address: Address, note: Note, now: int, lane: str | None = None
) -> int | None:
    """Put a message of ours into a chat's line, or another one; None if it was put there before.

    The answer goes to the chat.
    """
    message = InboundMessage(
        channel=address.channel,
        bot_id=address.bot_id,
        chat_id=address.chat_id,
        message_id=note.message_id,
        sender_id="orchestrator",
        sender_name=note.sender,
        text=note.text,
        thread_id=address.thread_id,
        kind=note.kind,
        private=address.private,
        target=note.agent_id,
    )
    return inbox.store(db, Arrival(message), now, lane)
