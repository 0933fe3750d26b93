"""Send the outbox: T7, the platform call, T8.

Chats are served in parallel, each with one row at a time.

What is known after a failed call decides what happens next. A message that certainly did not arrive
is sent again. An edit is repeated, since that changes nothing. A message that may have arrived is
repeated only if its row says that a second copy does no harm.
"""

import math
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass
from functools import partial

import anyio
import structlog
from anyio.abc import TaskGroup

from orchestrator.channel_api import Adapter, OutboundPart, SendError, SendOutcome
from orchestrator.errors import JournalError
from orchestrator.failpoints import failpoint
from orchestrator.journal.db.store import Store, retry_later
from orchestrator.journal.turns import outbox
from orchestrator.journal.turns.outbox import UNFINISHED, Address, OutboxRow
from orchestrator.outbound.preview import Preview
from orchestrator.wakeup import Wakeup

PLACEHOLDER = "…"  # what a chat sees for a moment before a reply that was not streamed
MAX_RETRY_DELAY = 60.0  # seconds
PREVIEW_START = 24  # characters before a preview is worth a notification
PREVIEW_INTERVAL = 1.0  # seconds between edits; a chat takes about one message a second
TYPING_START = 0.3  # seconds; a faster answer needs no typing indicator
TYPING_INTERVAL = 4.0  # seconds; the platform shows the indicator for five
CALL_TIMEOUT = 60.0  # seconds for one platform call, beyond the adapter's own limits
log = structlog.get_logger()


@dataclass(frozen=True)
class Reply:
    """Where the reply of a turn goes, and how; see `Delivery.mode`."""

    address: Address
    mode: str


class Delivery:
    """Sends the outbox through the adapters. ``clock`` returns milliseconds since the epoch."""

    def __init__(
        self,
        store: Store,
        adapters: Mapping[str, Adapter],
        tasks: TaskGroup,
        clock: Callable[[], int],
    ) -> None:
        self._store = store
        self._adapters = adapters
        self._tasks = tasks
        self._clock = clock
        self._wakeups = {name: Wakeup() for name in adapters}
        self._busy: set[str] = set()
        self._paused_until: dict[str, float] = {}  # in the event loop's time

    def mode(self, address: Address) -> str:
        """Return how a reply is delivered: ``stored``, ``edit`` or ``direct``.

        ``stored``: clients read it in the journal. ``edit``: a placeholder is sent and edited; a
        crash is repaired by editing again. ``direct``: it is sent once.
        """
        adapter = self._adapters.get(address.channel)
        if adapter is not None and adapter.delivered_when_stored(address.chat_id):
            return outbox.STORED
        return "edit" if adapter is not None and adapter.edits and address.private else "direct"

    def split(self, channel: str, text: str) -> tuple[str, ...]:
        adapter = self._adapters.get(channel)
        return adapter.split(text) if adapter is not None else (text,)

    def wake(self, channel: str | None = None) -> None:
        """Look for new rows of a channel, or of all channels."""
        for name, wakeup in self._wakeups.items():
            if channel in (None, name):
                wakeup.wake()

    def replied(self, reply: Reply | None) -> None:
        """Send the reply of a turn that has ended; None if it may be in any chat."""
        if reply is None:
            self.wake()
            return
        address = reply.address
        if address.channel in self._adapters:
            self._adapters[address.channel].replied(address.chat_id)
        if reply.mode != outbox.STORED:
            self.wake(address.channel)

    async def run(self, channel: str) -> None:
        while True:
            changed = self._wakeups[channel].changed
            try:
                rows = self._store.read(outbox.due, channel)
            except JournalError as error:
                await retry_later(error)
                continue
            pause = self._paused_until.get(channel, 0.0) - anyio.current_time()
            delays = {row: max(pause, self._delay(row)) for row in rows}
            for row, delay in delays.items():
                if delay <= 0 and row.chat_key not in self._busy:
                    self._busy.add(row.chat_key)
                    self._tasks.start_soon(self._deliver, row)
            later = [delay for delay in delays.values() if delay > 0]
            with anyio.move_on_after(min(later, default=math.inf)):
                await changed.wait()

    def _delay(self, row: OutboxRow) -> float:
        """Return the seconds until a row is due.

        A longer delay than any that is written means that the clock was set back since.
        """
        delay = (row.not_before - self._clock()) / 1000
        return 0.0 if delay > MAX_RETRY_DELAY else max(0.0, delay)

    async def wait_idle(self) -> None:
        """Wait until no row is due."""
        for channel, wakeup in self._wakeups.items():
            while any(self._delay(row) <= 0 for row in self._store.read(outbox.due, channel)):
                await wakeup.changed.wait()

    async def _deliver(self, row: OutboxRow) -> None:
        adapter = self._adapters[row.channel]
        try:
            if row.mode == "edit":
                await self._edit(adapter, row)
            else:
                await self._direct(adapter, row)
        except SendError as error:
            await self._failed(row, error)
        except JournalError as error:  # before the platform was called
            await retry_later(error)
        finally:
            self._busy.discard(row.chat_key)
            self.wake(row.channel)

    async def _direct(self, adapter: Adapter, row: OutboxRow) -> None:
        if not adapter.from_journal:  # it may be repeated there, so T7 is not needed
            await self._store.transact(outbox.sending, row.id, "sending", self._clock())
        with _bounded("send"):
            message_id = await adapter.send(_part(row))
        await self._record(outbox.delivered, row.id, message_id, self._clock())

    async def _edit(self, adapter: Adapter, row: OutboxRow) -> None:
        message_id = row.ph_id
        if message_id is None:
            await self._store.transact(outbox.sending, row.id, "ph_sending", self._clock())
            with _bounded("placeholder"):
                message_id = await adapter.send(_part(row, PLACEHOLDER))
            await self._record(outbox.replacing, row.id, message_id, self._clock())
        else:
            await self._store.transact(outbox.sending, row.id, "sending", self._clock())
        with _bounded("edit"):
            await adapter.edit(_part(row), message_id)
        await self._record(outbox.delivered, row.id, message_id, self._clock())

    async def _failed(self, row: OutboxRow, error: SendError) -> None:
        log.warning("send_failed", chat=row.chat_key, outcome=error.outcome, problem=str(error))
        now = self._clock()
        if error.outcome is SendOutcome.PERMANENT:
            await self._record(outbox.end, row.id, "failed_permanent", str(error), now)
        elif error.outcome is SendOutcome.GONE:
            await self._record(outbox.forget_placeholder, row.id)
        else:
            wait = min(MAX_RETRY_DELAY, 2.0 ** min(row.attempt, 10))
            if error.retry_after is not None:
                wait = min(MAX_RETRY_DELAY, error.retry_after)
                self._paused_until[row.channel] = anyio.current_time() + error.retry_after
            later = now + math.ceil(wait * 1000)
            if error.outcome is SendOutcome.UNKNOWN and row.mode == "direct":
                await self._record(outbox.mark_unconfirmed, row.id, str(error), now, later)
            else:
                await self._record(outbox.requeue, row.id, str(error), later)

    async def _record(self, work: Callable[..., None], *args: object) -> None:
        """Run T8 until it succeeds: only this process knows what the platform did."""
        while True:
            try:
                return await self._store.transact(work, *args)
            except JournalError as error:
                await retry_later(error)

    @asynccontextmanager
    async def preview(self, turn_id: str, address: Address) -> AsyncIterator[Preview]:
        """Show that a turn is being answered: typing, and the answer while it is written.

        After the block the row of the preview, if there is one, waits for its final text (T6).
        Exceptions of the block are raised as they are, not in an exception group.
        """
        adapter = self._adapters.get(address.channel)
        preview = Preview()
        if adapter is None or adapter.from_journal:  # these channels show no typing
            if adapter is not None:
                preview.view = partial(adapter.view, address.chat_id)
            with closing(preview):
                yield preview
            return
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._typing, adapter, address)
                if self.mode(address) == "edit":
                    tasks.start_soon(self._stream, adapter, turn_id, address, preview)
                try:
                    yield preview
                finally:
                    preview.close()
                    tasks.cancel_scope.cancel()
        except ExceptionGroup as group:
            raise group.exceptions[0] from None

    async def _typing(self, adapter: Adapter, address: Address) -> None:
        await anyio.sleep(TYPING_START)
        while True:
            await adapter.typing(address.chat_id, address.thread_id or None)
            await anyio.sleep(TYPING_INTERVAL)

    async def _stream(
        self, adapter: Adapter, turn_id: str, address: Address, preview: Preview
    ) -> None:
        """Send the first words as a message, and edit it while the answer grows."""
        text = await preview.longer_than(PREVIEW_START - 1)
        if not preview.begin():
            return
        with anyio.CancelScope(shield=True):  # the row must say whether a message exists
            message_id = await self._begin(adapter, turn_id, address, text)
        if message_id is None:
            return
        while True:
            await anyio.sleep(PREVIEW_INTERVAL)
            text = await preview.longer_than(len(text))
            try:
                await adapter.edit(_preview_part(address, adapter, text), message_id)
            except SendError as error:
                log.info("preview_failed", chat=address.chat_key, problem=str(error))
                return

    async def _begin(
        self, adapter: Adapter, turn_id: str, address: Address, text: str
    ) -> str | None:
        """Return the message id of the turn's preview; send it unless an earlier process did."""
        row, message_id = await self._store.transact(
            outbox.start_preview, turn_id, address, text + UNFINISHED, self._clock()
        )
        if message_id is None:
            try:
                with _bounded("preview"):
                    message_id = await adapter.send(_preview_part(address, adapter, text))
            except SendError as error:
                log.info("preview_failed", chat=address.chat_key, problem=str(error))
                return None
            await self._store.transact(outbox.placeholder_sent, row, message_id)
        return message_id


@contextmanager
def _bounded(name: str) -> Iterator[None]:
    """Limit a platform call between two failpoints; one that times out may still have worked."""
    failpoint(f"{name}:before")
    try:
        with anyio.fail_after(CALL_TIMEOUT):
            yield
        failpoint(f"{name}:after")
    except TimeoutError:
        raise SendError("the platform did not answer", SendOutcome.UNKNOWN) from None


def _part(row: OutboxRow, text: str | None = None) -> OutboundPart:
    return OutboundPart(
        chat_id=row.chat_id,
        text=row.body if text is None else text,
        thread_id=row.thread_id or None,
        markdown=row.markdown and text is None,
        reply_to=row.reply_to,
    )


def _preview_part(address: Address, adapter: Adapter, text: str) -> OutboundPart:
    first = adapter.split(text)[:1]
    return OutboundPart(
        chat_id=address.chat_id,
        text="".join(first) + UNFINISHED,
        thread_id=address.thread_id or None,
    )
