"""Deliver replies: the outbox's rows to the queues of their chats, and previews of answers.

A chat with something to send has a queue, whose task makes all its calls. Chats are served in
parallel.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import anyio
import structlog
from anyio.abc import TaskGroup

from orchestrator.channel_api import Adapter, OutboundPart, ReplyPart, SendError
from orchestrator.chat_activity import AnswerGrew, ChatActivity
from orchestrator.errors import JournalError
from orchestrator.journal.db.store import Store, retry_later
from orchestrator.journal.db.writer import StorageFailedError
from orchestrator.journal.turns import outbox
from orchestrator.journal.turns.outbox import UNFINISHED, Address, Part
from orchestrator.loop_owned import LoopOwned
from orchestrator.outbound.chat_queue import ChatQueue, Platform, Speak
from orchestrator.outbound.flood_control import FloodControl
from orchestrator.outbound.preview import Preview
from orchestrator.wakeup import Wakeup

PREVIEW_START = 24  # characters that are worth a notification; a preview begins with them
PREVIEW_INTERVAL = 1.0  # seconds between edits; a chat takes about one message a second
PATIENCE = 1.5  # seconds; a faster answer needs neither preview nor typing indicator
TYPING_INTERVAL = 4.0  # seconds; the platform shows the indicator for five
CROWD = 1000  # chats that wait; so many are looked through once a second at most
log = structlog.get_logger()


class Reply(NamedTuple):
    """Where the reply of a turn goes, and how; see `ReplyFormats.mode`."""

    address: Address
    mode: str


@dataclass(frozen=True)
class ReplyFormats:
    """How each channel takes a reply; unlike `Delivery`, a transaction may use it."""

    adapters: Mapping[str, Adapter]

    def mode(self, address: Address) -> str:
        """Return how a reply is delivered: ``stored``, ``edit`` or ``direct``.

        ``stored``: clients read it in the journal. ``edit``: it is sent once, or takes the place of
        its preview; a crash is repaired by editing. ``direct``: it is sent once.
        """
        adapter = self.adapters.get(address.channel)
        if adapter is not None and adapter.delivered_when_stored(address.chat_id):
            return outbox.STORED
        return "edit" if adapter is not None and adapter.edits and address.private else "direct"

    def takes_files(self, channel: str) -> bool:
        adapter = self.adapters.get(channel)
        return adapter is not None and adapter.takes_files

    def split(self, channel: str, text: str, mark: str = "") -> tuple[ReplyPart, ...]:
        adapter = self.adapters.get(channel)
        return adapter.split(text, mark) if adapter is not None else (ReplyPart(text + mark),)


class Delivery(LoopOwned):
    """Sends the outbox through the adapters. ``clock`` returns milliseconds since the epoch.

    A turn that takes longer than ``patience`` seconds shows that it is being answered. ``speak`` is
    as in `Platform`.
    """

    def __init__(
        self,
        store: Store,
        adapters: Mapping[str, Adapter],
        tasks: TaskGroup,
        clock: Callable[[], int],
        speak: Speak,
        patience: float = PATIENCE,
    ) -> None:
        self._patience = patience
        self.activity = ChatActivity()
        self.flood = FloodControl()
        self.formats = ReplyFormats(adapters)
        self._store = store
        self._tasks = tasks
        self._rested = Wakeup()
        self._platforms = {
            name: Platform(store, adapter, self.flood, clock, self._rested, speak)
            for name, adapter in adapters.items()
        }
        self._changes = Wakeup()
        self._queues: dict[str, ChatQueue] = {}  # by chat_key

    def wake(self) -> None:
        """Look for new rows."""
        self._changes.wake()

    def replied(self, reply: Reply | None) -> None:
        """Send the reply of a turn that has ended; None if it may be in any chat."""
        if reply is None:
            self.wake()
            return
        address = reply.address
        platform = self._platforms.get(address.channel)
        if platform is not None:
            platform.adapter.replied(address.chat_id)
            if reply.mode != outbox.STORED:
                self._queue(address)

    async def tell(self, channel: str, part: OutboundPart) -> bool:
        """Try once to send a message that the journal cannot store.

        Return false if the platform wants nothing sent to its chat for now; nothing was tried then.
        """
        platform = self._platforms[channel]
        await platform.adapter.pace(part.chat_id)
        if platform.held(part.chat_id):
            return False
        platform.doubt(part.chat_id)
        try:
            await platform.adapter.send(part)
        except SendError as error:
            platform.refused(part.chat_id, error)
        return True

    async def run(self, channel: str) -> None:
        """Give every chat of a channel that has a row to send its queue, until cancelled.

        A queue that could send nothing is left alone: in an outage there may be thousands.
        """
        while True:
            changed = self._changes.changed
            try:
                chats = await self._store.read(outbox.waiting, channel)
            except JournalError as error:
                await retry_later(error)
                continue
            for address in chats:
                queue = self._queues.get(address.chat_key)
                if queue is None or not queue.blocked:
                    self._queue(address)
            if len(chats) >= CROWD:
                await anyio.sleep(1)
            await changed.wait()

    async def wait_idle(self) -> None:
        """Wait until no row is due, and of none that was sent the outcome is yet to be stored."""
        for channel, platform in self._platforms.items():
            while True:
                changed = self._rested.changed
                rows = await self._store.read(outbox.due, channel)
                due = any(platform.delay(row) <= 0 for row in rows)
                if not due and not any(queue.sending for queue in self._queues.values()):
                    break
                await changed.wait()

    async def hand_over(self) -> None:
        """Send nothing more, and wait until the outcome of all that was sent is stored."""
        for platform in self._platforms.values():
            platform.handed_over.set()
        while True:
            changed = self._rested.changed
            if not any(queue.sending and not queue.paced for queue in self._queues.values()):
                return
            await changed.wait()

    def _queue(self, address: Address) -> ChatQueue:
        """Return the queue of a chat; let it look for something to send."""
        queue = self._queues.get(address.chat_key)
        if queue is None:
            queue = ChatQueue(self._platforms[address.channel], address)
            self._queues[address.chat_key] = queue
            self._tasks.start_soon(self._work_off, queue, address.chat_key)
        queue.wake()
        return queue

    async def _work_off(self, queue: ChatQueue, chat_key: str) -> None:
        try:
            await queue.run()
        finally:
            del self._queues[chat_key]
            self._rested.wake()

    @contextmanager
    def preview(self, turn_id: str, address: Address) -> Iterator[Preview]:
        """Show that a turn is being answered: typing, and the answer while it is written."""
        preview = Preview(turn_id)
        preview.view = partial(self._grown, turn_id, address)
        loop = asyncio.get_running_loop()
        patience = loop.call_later(self._patience, self._begin, address, preview)
        try:
            yield preview
        finally:
            patience.cancel()
            preview.close()

    def _begin(self, address: Address, preview: Preview) -> None:
        platform = self._platforms.get(address.channel)
        if platform is None or platform.adapter.from_journal:  # these show no typing
            return
        self._tasks.start_soon(_typing, platform, address, preview.closed)
        if self.formats.mode(address) == "edit":
            self._tasks.start_soon(self._stream, platform, address, preview)

    def _grown(self, turn_id: str, address: Address, text: str) -> None:
        """Show a growing answer to clients that wait for it, and to those who watch the chat."""
        platform = self._platforms.get(address.channel)
        if platform is not None:
            platform.adapter.view(address.chat_id, text)
        self.activity.tell(address.chat_key, AnswerGrew(turn_id, text))

    async def _stream(self, platform: Platform, address: Address, preview: Preview) -> None:
        """Queue the first words as a message, and offer more while the answer grows."""
        text = _first_words(await preview.longer_than(PREVIEW_START - 1))
        if preview.closed.is_set():
            return
        begin = platform.adapter.split(text, UNFINISHED)[0]
        part, now = Part(begin.text, rendered=begin.rendered), platform.clock()
        try:
            await self._store.transact(outbox.start_preview, preview.turn_id, address, part, now)
        except (JournalError, StorageFailedError) as error:
            log.debug("preview_not_stored", problem=str(error))
            return
        queue = self._queue(address)
        while not preview.closed.is_set():
            queue.preview = preview
            with anyio.move_on_after(PREVIEW_INTERVAL):
                await preview.closed.wait()
            text = await preview.longer_than(len(text))
            preview.offer()
            queue.wake()
        if queue.preview is preview:
            queue.preview = None
            queue.wake()


async def _typing(platform: Platform, address: Address, closed: asyncio.Event) -> None:
    """Show that an answer is written until ``closed`` is set.

    A call that has begun goes on, since a refusal that is cut off would not be heard.
    """
    while not closed.is_set():
        if not platform.held(address.chat_id):
            try:
                await platform.adapter.typing(address.chat_id, address.thread_id or None)
            except SendError as error:
                platform.refused(address.chat_id, error)
            except Exception:  # a fault in an indicator must not end the daemon
                log.exception("typing_broke", chat=address.chat_key)
        with anyio.move_on_after(TYPING_INTERVAL):
            await closed.wait()


def _first_words(text: str) -> str:
    """Return how a preview begins: whole words, if the first one is not too long for it."""
    text = text.lstrip()
    end = max(text.rfind(space, 0, PREVIEW_START + 1) for space in " \n")
    return text[: end if end > 0 else PREVIEW_START]
