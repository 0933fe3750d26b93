"""Channels of this machine, whose clients read their replies from the journal.

A reply is in the journal before a client reads it, so a client that lost its connection asks again
with the same message id and gets the same answer.
"""

from typing import NamedTuple
from weakref import WeakValueDictionary

import anyio

from orchestrator.channel_api import (
    ChannelStatus,
    Intake,
    OutboundPart,
    ReplyPart,
    SendError,
    SendOutcome,
)
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store
from orchestrator.journal.turns import inbox, outbox
from orchestrator.journal.turns.inbox import InboxRow
from orchestrator.wakeup import Wakeup

POLL = 1.0  # seconds; a message that is refused without a reply wakes no waiter


class EndedMessage(NamedTuple):
    """A message that has ended, and the parts of its reply."""

    row: InboxRow
    texts: tuple[str, ...]


class JournalChannel:
    """Base of adapters whose clients read the journal; ids of their messages never repeat."""

    name: str
    bot_id = "local"
    can_edit = False
    can_show_files = False
    deduplicates = False
    is_read_from_journal = True

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: WeakValueDictionary[str, Wakeup] = WeakValueDictionary()  # by chat id
        self.status = ChannelStatus(self.name, "ok")

    async def run(self, intake: Intake) -> None:
        """Do nothing: a server hands in the messages."""
        del intake
        await anyio.sleep_forever()

    def is_delivered_when_stored(self, chat_id: str) -> bool:
        """Return True: clients read the journal, now or later."""
        del chat_id
        return True

    def split(self, text: str, mark: str = "") -> tuple[ReplyPart, ...]:
        """Return the text as one part: clients take any length."""
        return (ReplyPart(text + mark),) if text.strip() else ()

    async def wait_for_rate(self, chat_id: str) -> None:
        """Do not wait: these channels have no limit."""

    async def send(self, part: OutboundPart) -> str:
        self.wake_waiting_clients(part.chat_id)
        return "journal"

    async def edit(self, part: OutboundPart, message_id: str) -> None:
        """Send the part: these channels edit nothing."""
        del message_id
        self.wake_waiting_clients(part.chat_id)

    async def remove(self, chat_id: str, message_id: str) -> None:
        """Do nothing: what these channels show is in the journal."""

    async def download(self, handle: str, limit: int) -> bytes:
        """Refuse: these channels have no attachments."""
        del limit
        raise SendError(f"{self.name}: there is no attachment {handle!r}", SendOutcome.PERMANENT)

    def show_unfinished_answer(self, chat_id: str, text: str) -> None:
        """Show nothing before the whole answer."""

    def watch_replies(self, chat_id: str) -> Wakeup:
        """Return the wakeup for changes of a chat; keep it while you wait."""
        return self._waiting.setdefault(chat_id, Wakeup())

    def wake_waiting_clients(self, chat_id: str) -> None:
        waiting = self._waiting.get(chat_id)
        if waiting is not None:
            waiting.wake()

    async def show_typing(self, chat_id: str, thread_id: str | None) -> None:
        """Show no typing."""

    async def _wait_for_end(
        self, message_id: str, seconds: float
    ) -> EndedMessage | InboxRow | None:
        """Wait for a message to end; return its state after ``seconds``, None if unknown."""
        found = await self._store.read(_find_ended_message, self.name, message_id)
        if not isinstance(found, InboxRow):
            return found
        replies, end = self.watch_replies(found.chat_id), anyio.current_time() + seconds
        while True:
            changed, left = replies.changed, end - anyio.current_time()
            found = await self._store.read(_find_ended_message, self.name, message_id)
            if left <= 0 or not isinstance(found, InboxRow):
                return found
            with anyio.move_on_after(min(left, POLL)):
                await changed.wait()


def _find_ended_message(
    db: Database, channel: str, message_id: str
) -> EndedMessage | InboxRow | None:
    row = inbox.find_message_by_id(db, channel, message_id)
    if row is None or row.state in ("new", "claimed"):
        return row
    texts = (
        outbox.list_notices_to(db, row.chat_key, message_id)
        if row.turn_id is None
        else outbox.list_texts_of_turn(db, row.turn_id)
    )
    return EndedMessage(row, tuple(texts))
