"""Channels of this machine, whose clients read their replies from the journal.

A reply is in the journal before anybody reads it, so a client that lost its connection asks again
with the same message id and gets the same answer.
"""

from collections import defaultdict
from dataclasses import dataclass

import anyio
import apsw

from orchestrator.channel_api import ChannelStatus, OutboundPart, SendError, SendOutcome
from orchestrator.journal.db.store import Store
from orchestrator.journal.turns import inbox, outbox
from orchestrator.journal.turns.inbox import InboxRow

POLL = 1.0  # seconds; a refusal that says nothing to the chat is found without a signal


@dataclass(frozen=True)
class Ended:
    """A message that has its end, and the parts of the reply."""

    row: InboxRow
    texts: tuple[str, ...]


class JournalChannel:
    """What such channels' adapters have in common; the ids of their messages never repeat."""

    name: str
    bot_id = "local"
    edits = False
    from_journal = True

    def __init__(self, store: Store) -> None:
        self._store = store
        self._changed: dict[str, anyio.Event] = defaultdict(anyio.Event)
        self.status = ChannelStatus(self.name, "ok")

    def delivered_when_stored(self, chat_id: str) -> bool:
        """Whoever waits for it looks there, and whoever asks later as well."""
        del chat_id
        return True

    def split(self, text: str) -> tuple[str, ...]:
        """A client takes any length."""
        return (text,) if text.strip() else ()

    async def send(self, part: OutboundPart) -> str:
        """Wake whoever waits in the chat."""
        self._wake(part.chat_id)
        return "journal"

    async def edit(self, part: OutboundPart, message_id: str) -> None:
        """Like `send`; never called, as nothing is edited here."""
        del message_id
        self._wake(part.chat_id)

    async def download(self, handle: str, limit: int) -> bytes:
        """Nothing is attached here."""
        del limit
        raise SendError(f"{self.name}: there is no attachment {handle!r}", SendOutcome.PERMANENT)

    def view(self, chat_id: str, text: str) -> None:
        """Show nothing before the whole answer."""

    def replied(self, chat_id: str) -> None:
        """Wake whoever waits in the chat."""
        self._wake(chat_id)

    async def typing(self, chat_id: str, thread_id: str | None) -> None:
        """Show no typing."""

    def _wake(self, chat_id: str) -> None:
        """Something was said in a chat: whoever waits there looks again."""
        self._changed.pop(chat_id, anyio.Event()).set()

    async def _ended(self, message_id: str, chat_id: str, seconds: float) -> Ended | None:
        """What became of a message; None when it has no end after so many seconds."""
        with anyio.move_on_after(seconds):
            while (found := self._store.read(self._find, message_id)) is None:
                with anyio.move_on_after(POLL):
                    await self._changed[chat_id].wait()
            return found
        return None

    def _find(self, db: apsw.Connection, message_id: str) -> Ended | None:
        row = inbox.by_message(db, self.name, message_id)
        if row is None or row.state in ("new", "claimed"):
            return None
        texts = (
            outbox.notices_to(db, row.chat_key, message_id)
            if row.turn_id is None
            else outbox.texts_of_turn(db, row.turn_id)
        )
        return Ended(row, tuple(texts))
