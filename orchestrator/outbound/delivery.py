"""Deliver replies: pass outbox rows to the queues of their chats, and show previews.

A chat with something to send has a queue, whose task makes all its calls. Chats are served in
parallel.

Where: is a growing answer shown in a chat?
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
from orchestrator.journal.turns.outbox import UNFINISHED, Address, OutboxPart, OutboxRow
from orchestrator.loop_bound import LoopBound
from orchestrator.outbound.chat_queue import ChatQueue, Preview
from orchestrator.outbound.flood_control import FloodControl
from orchestrator.outbound.platform import Platform, Speak
from orchestrator.placement import Placement, Share, SingleNode
from orchestrator.wakeup import Wakeup

PREVIEW_START = 24  # characters that are worth a notification; a preview begins with them
PREVIEW_INTERVAL = 1.0  # seconds between edits; a chat takes about one message a second
PREVIEW_DELAY = 1.5  # seconds; a faster answer needs neither preview nor typing indicator
TYPING_INTERVAL = 4.0  # seconds; the platform shows the indicator for five
CROWD = 1000  # with this many waiting chats, they are scanned once a second at most
log = structlog.get_logger()


class Reply(NamedTuple):
    """The target and mode of a turn's reply; see `ReplyFormats.choose_mode`.

    ``first`` is the next row to send to its chat, as of when the reply was stored.
    """

    address: Address
    mode: str
    first: OutboxRow | None = None


@dataclass(frozen=True)
class ReplyFormats:
    """How each channel takes a reply; safe to use in transactions, unlike `Delivery`."""

    adapters: Mapping[str, Adapter]

    def choose_mode(self, address: Address) -> str:
        """Choose how a reply is delivered: ``stored``, ``edit`` or ``direct``.

        ``stored``: clients read the reply in the journal. ``edit``: it is sent once, or replaces
        its preview; a crash is repaired by editing. ``direct``: it is sent once.
        """
        adapter = self.adapters.get(address.channel)
        if adapter is not None and adapter.is_delivered_when_stored(address.chat_id):
            return outbox.STORED
        return "edit" if adapter is not None and adapter.can_edit and address.private else "direct"

    def takes_files(self, channel: str) -> bool:
        adapter = self.adapters.get(channel)
        return adapter is not None and adapter.can_show_files

    def split_text(self, channel: str, text: str, mark: str = "") -> tuple[ReplyPart, ...]:
        adapter = self.adapters.get(channel)
        return adapter.split(text, mark) if adapter is not None else (ReplyPart(text + mark),)


class Delivery(LoopBound):
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
        patience: float = PREVIEW_DELAY,
        placement: Placement | None = None,
    ) -> None:
        self._patience = patience
        self._placement = placement or SingleNode()
        self.activity = ChatActivity()
        self.flood = FloodControl()
        self.formats = ReplyFormats(adapters)
        self._store = store
        self._tasks = tasks
        self._rested = Wakeup()
        self._make_platform = partial(
            Platform,
            store=store,
            flood=self.flood,
            clock=clock,
            rested=self._rested,
            speak=speak,
            placement=self._placement,
        )
        self._platforms = {
            name: self._make_platform(adapter=adapter) for name, adapter in adapters.items()
        }
        self._changes = Wakeup()
        self._queues: dict[str, ChatQueue] = {}  # by chat_key

    def add_channel(self, adapter: Adapter) -> None:
        """Serve one more channel, which is in ``adapters`` by now; `run` must follow."""
        self._platforms[adapter.name] = self._make_platform(adapter=adapter)

    def doubt_chats(self, share: Share) -> None:
        """Doubt the chats of a share: another node may have sent what the journal does not know."""
        for platform in self._platforms.values():
            platform.doubt_chats(share)

    def wake(self) -> None:
        """Look for new rows."""
        self._changes.wake()

    def send_reply(self, reply: Reply | None) -> None:
        """Send the reply of a turn that has ended; None if it may be in any chat."""
        if reply is None:
            self.wake()
            return
        address = reply.address
        platform = self._platforms.get(address.channel)
        if platform is not None:
            platform.adapter.wake_waiting_clients(address.chat_id)
            if reply.mode != outbox.STORED:
                self._wake_queue(address, reply.first)

    async def send_unstored(self, channel: str, part: OutboundPart) -> bool:
        """Try once to send a message that the journal cannot store.

        Return False, without trying, if the platform holds the chat for now.
        """
        platform = self._platforms[channel]
        await platform.adapter.wait_for_rate(part.chat_id)
        if platform.find_hold_seconds(part.chat_id):
            return False
        platform.set_doubtful(part.chat_id)
        try:
            await platform.adapter.send(part)
        except SendError as error:
            platform.hold_after_refusal(part.chat_id, error)
        return True

    async def run(self, channel: str) -> None:
        """Start a queue for every chat that has a row to send, until cancelled.

        A queue that could send nothing is left alone: in an outage there may be thousands.
        """
        while True:
            changed = self._changes.changed
            try:
                chats = await self._store.read(
                    outbox.list_waiting_chats, channel, self._placement.share
                )
            except JournalError as error:
                await retry_later(error)
                continue
            for address in chats:
                queue = self._queues.get(address.chat_key)
                if queue is None or not queue.is_blocked:
                    self._wake_queue(address)
            if len(chats) >= CROWD:
                await anyio.sleep(1)
            await changed.wait()

    async def wait_idle(self) -> None:
        """Wait until no row is due and every outcome is stored."""
        for channel, platform in self._platforms.items():
            while True:
                changed = self._rested.changed
                rows = await self._store.read(outbox.list_due_rows, channel, self._placement.share)
                due = any(platform.find_send_delay(row) <= 0 for row in rows)
                if not due and not any(queue.sending for queue in self._queues.values()):
                    break
                await changed.wait()

    async def finish_sending(self) -> None:
        """Stop sending, and wait until every outcome is stored."""
        for platform in self._platforms.values():
            platform.handed_over.set()
        while True:
            changed = self._rested.changed
            if not any(queue.sending and not queue.paced for queue in self._queues.values()):
                return
            await changed.wait()

    def _wake_queue(self, address: Address, first: OutboxRow | None = None) -> ChatQueue:
        """Return the queue of a chat, woken to look for work.

        ``first`` is the row to send next, if known.
        """
        queue = self._queues.get(address.chat_key)
        if queue is None:
            queue = ChatQueue(self._platforms[address.channel], address, self._queues, first)
            self._queues[address.chat_key] = queue
            self._tasks.start_soon(queue.run)
        else:
            queue.wake()
        return queue

    @contextmanager
    def open_preview(self, turn_id: str, address: Address, owner: str = "") -> Iterator[Preview]:
        """Show that the turn of an ``owner`` is being answered: typing, then the growing answer."""
        preview = Preview(turn_id, partial(self._show_grown_answer, turn_id, address), owner)
        loop = asyncio.get_running_loop()
        patience = loop.call_later(self._patience, self._begin_preview, address, preview)
        try:
            yield preview
        finally:
            patience.cancel()
            preview.close()

    def _begin_preview(self, address: Address, preview: Preview) -> None:
        platform = self._platforms.get(address.channel)
        if platform is None or platform.adapter.is_read_from_journal:  # these show no typing
            return
        self._tasks.start_soon(_show_typing, platform, address, preview)
        if self.formats.choose_mode(address) == "edit":
            self._tasks.start_soon(self._stream_preview, platform, address, preview)

    def _show_grown_answer(self, turn_id: str, address: Address, text: str) -> None:
        """Show a growing answer to waiting clients and to watchers of the chat."""
        platform = self._platforms.get(address.channel)
        if platform is not None:
            platform.adapter.show_unfinished_answer(address.chat_id, text)
        self.activity.tell_watchers(address.chat_key, AnswerGrew(turn_id, text))

    async def _stream_preview(self, platform: Platform, address: Address, preview: Preview) -> None:
        """Queue the first words as a message, and offer more while the answer grows."""
        text = _cut_first_words(await preview.wait_for_longer_text(PREVIEW_START - 1))
        if preview.is_closed:
            return
        begin = platform.adapter.split(text, UNFINISHED)[0]
        part, now = OutboxPart(begin.text, rendered=begin.rendered), platform.clock()
        try:
            await self._store.transact(outbox.start_preview, preview.turn_id, address, part, now)
        except (JournalError, StorageFailedError) as error:
            log.debug("preview_not_stored", problem=str(error))
            return
        queue = self._wake_queue(address)
        while not preview.is_closed:
            queue.preview = preview
            await preview.wait_until_closed(PREVIEW_INTERVAL)
            text = await preview.wait_for_longer_text(len(text))
            preview.offer_refresh()
            queue.wake()
        if queue.preview is preview:
            queue.preview = None
            queue.wake()


async def _show_typing(platform: Platform, address: Address, preview: Preview) -> None:
    """Show typing until the preview is closed.

    A call in progress is not cancelled, since its refusal would be lost.
    """
    while not preview.is_closed:
        if not platform.find_hold_seconds(address.chat_id):
            try:
                await platform.adapter.show_typing(address.chat_id, address.thread_id or None)
            except SendError as error:
                platform.hold_after_refusal(address.chat_id, error)
            except Exception:  # a fault in an indicator must not end the daemon
                log.exception("typing_broke", chat=address.chat_key)
        await preview.wait_until_closed(TYPING_INTERVAL)


def _cut_first_words(text: str) -> str:
    """Return the first words of a preview, cut at a word where possible."""
    text = text.lstrip()
    end = max(text.rfind(space, 0, PREVIEW_START + 1) for space in " \n")
    return text[: end if end > 0 else PREVIEW_START]
