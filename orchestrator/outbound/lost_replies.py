"""Find out whether a lost reply arrived, by trying to edit messages.

Where: is a reply looked up when sending it got no response?
"""

from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from orchestrator.channel_api import SendError, SendOutcome
from orchestrator.chat_texts import LATE
from orchestrator.journal.turns import outbox
from orchestrator.journal.turns.message_numbers import find_number_before, list_free_numbers
from orchestrator.journal.turns.outbox import OutboxRow
from orchestrator.outbound.platform import PLACEHOLDER, Platform, build_part, limit_call

MAX_PLACES = 100  # messages among which a lost one is looked for
REPEATED = LATE.format(text="").rstrip()  # precedes a reply that may be a repetition


class SendingQueue(Protocol):
    """The queue of the chat, see `ChatQueue`."""

    async def wait_for_rate(self) -> bool:
        """Wait for the platform's rate; return False if the chat is held by then."""

    @property
    def record_until_stored(self) -> Callable[..., Awaitable[Any]]:
        """A function that repeats T8 until it succeeds."""


@dataclass
class LostReplies:
    """Looks for the lost replies of one chat."""

    platform: Platform
    queue: SendingQueue
    # A lost row, and a placeholder that was sent after it.
    _bound: tuple[int, str] | None = field(default=None, init=False)

    async def look_for_reply(self, row: OutboxRow) -> None:
        """Find the message of a reply whose sending got no answer; if there is none, send it anew.

        It is the bot's next message, or one of a few before a placeholder that is sent now,
        without those that the journal knows.
        """
        store, record = self.platform.store, self.queue.record_until_stored
        before = await store.read(find_number_before, row)
        nearest = await store.read(list_free_numbers, row, before + 1, before + MAX_PLACES)
        if await self._try_edits(row, nearest[:1]) or not await self.queue.wait_for_rate():
            return
        if self._bound is None or self._bound[0] != row.id:
            with limit_call("placeholder"):
                sent = await self.platform.adapter.send(build_part(row, PLACEHOLDER))
            self._bound = row.id, sent
        _, placeholder = self._bound
        after = int(placeholder) if placeholder.isdecimal() else 0
        places = await store.read(list_free_numbers, row, before + 1, after - 1)
        if after <= before or len(places) > MAX_PLACES:
            await self._send_again(row)
        elif not await self._try_edits(
            row, [place for place in places if place not in nearest[:1]]
        ):
            await record(outbox.mark_placeholder_sent, row.id, placeholder)

    async def _send_again(self, row: OutboxRow) -> None:
        """Warn the chat that the next message may be a repetition, then queue it again."""
        if await self.queue.wait_for_rate():
            with limit_call("placeholder"):
                await self.platform.adapter.send(build_part(row, REPEATED))
            await self._remove_bound_placeholder(row)
            await self.queue.record_until_stored(outbox.forget_placeholder, row.id)

    async def _try_edits(self, row: OutboxRow, numbers: Iterable[int]) -> bool:
        """Try to edit messages; return whether one was the bot's, or the rest must wait."""
        for number in numbers:
            if not await self.queue.wait_for_rate():
                return True
            try:
                with limit_call("edit"):
                    await self.platform.adapter.edit(build_part(row), str(number))
            except SendError as error:
                if error.outcome is not SendOutcome.GONE:
                    raise
            else:
                await self._remove_bound_placeholder(row)
                now = self.platform.clock()
                await self.queue.record_until_stored(outbox.mark_delivered, row, str(number), now)
                return True
        return False

    async def _remove_bound_placeholder(self, row: OutboxRow) -> None:
        """Remove the placeholder that a lost row does not use; if that fails, it is harmless."""
        if self._bound is not None and self._bound[0] == row.id:
            _, placeholder = self._bound
            self._bound = None
            with suppress(SendError), limit_call("remove"):
                await self.platform.adapter.remove(row.chat_id, placeholder)
