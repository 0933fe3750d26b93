"""The queue of one chat: its rows of the outbox in their order, and its preview.

One task makes all calls of a chat, one after another. So messages appear in the order in which
they were queued (invariant 23), and no edit overtakes another.

What is known after a failed call decides what happens next. A message that certainly did not arrive
is sent again. An edit is repeated, since that changes nothing: also one that was accepted, if an
earlier edit of the message may land after it. A reply that may have arrived is looked for (see
`lost_replies`), and sent again behind a mark if it could be in too many places. Another message
that may have arrived is repeated only if its row says that a second copy does no harm.

Where: is a reply sent, and sent again?
"""

import math
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

import anyio
import structlog

from orchestrator.channel_api import OutboundPart, SendError, SendOutcome
from orchestrator.errors import JournalError
from orchestrator.journal.db.store import FencedError, retry_later
from orchestrator.journal.db.writer import StorageFailedError
from orchestrator.journal.turns import outbox, questions, stored_files
from orchestrator.journal.turns.outbox import LATE_EDIT, UNFINISHED, Address, OutboxRow
from orchestrator.outbound.lost_replies import LostReplies
from orchestrator.outbound.platform import (
    MAX_RETRY_DELAY,
    PLACEHOLDER,
    Platform,
    build_part,
    limit_call,
)
from orchestrator.wakeup import Wakeup


@dataclass(eq=False)
class Preview(Wakeup):
    """The answer so far, until closed; it wakes its waiters when the answer grows.

    ``view`` is called with each new text. ``offered`` tells the chat's queue to show it.
    """

    turn_id: str
    view: Callable[[str], None]
    owner: str = ""
    text: str = field(default="", init=False)
    offered: bool = field(default=False, init=False)
    _refused: bool = field(default=False, init=False)

    def show_text(self, text: str) -> None:
        if not self.is_closed:
            self.text = text
            self.view(text)
            self.wake()

    def offer_refresh(self) -> None:
        self.offered = not (self._refused or self.is_closed)

    def stop_showing(self) -> None:
        """Stop showing the unfinished answer: the chat refused it."""
        self._refused, self.offered = True, False

    def close(self) -> None:
        self.is_closed, self.offered = True, False
        self.changed.set()  # nothing changes any more

    async def wait_for_longer_text(self, length: int) -> str:
        """Wait until the answer has grown or is closed, and return it."""
        while len(self.text) <= length and not self.is_closed:
            await self.changed.wait()
        return self.text

    async def wait_until_closed(self, seconds: float) -> None:
        """Wait until the answer is closed, for a limited time."""
        with anyio.move_on_after(seconds):
            while not self.is_closed:
                await self.changed.wait()


REMOVED = "the file was removed because of its age"
HELD = "the platform wanted nothing sent"
MAX_FAULTS = 3  # attempts to send a message in which an adapter may break
T = TypeVar("T")
log = structlog.get_logger()


@dataclass(eq=False)
class ChatQueue(Wakeup):
    """Sends the messages of one chat; ``preview`` belongs to the turn being answered.

    The queue is in ``queues`` while it runs. ``following`` is the row to send next, if known;
    ``is_empty`` says that no row follows.
    """

    platform: Platform
    address: Address
    queues: MutableMapping[str, "ChatQueue"]
    following: OutboxRow | None = None
    preview: Preview | None = field(default=None, init=False)
    sending: bool = field(default=False, init=False)  # a row, or storing its outcome
    paced: bool = field(default=False, init=False)  # waiting before a platform call
    is_empty: bool = field(default=False, init=False)
    _row: OutboxRow | None = field(default=None, init=False)  # that is sent next
    _lost: LostReplies | None = field(default=None, init=False)  # once one is looked for

    async def run(self) -> None:
        """Send until nothing is left and no answer is being written; look again at each wake."""
        structlog.contextvars.clear_contextvars()  # it outlives the turn that started it
        try:
            while await self._take_step():
                pass
        finally:
            del self.queues[self.address.chat_key]
            self.platform.rested.wake()

    async def _take_step(self) -> bool:
        """Send the next message or wait; return False if there is nothing to wait for."""
        changed, row, is_empty = self.changed, self.following, self.is_empty
        self._row = self.following = None  # while it looks it is not blocked: it may miss new rows
        self.is_empty = False
        try:
            if row is None and not is_empty:
                row = await self._find_next_row()
            self._row = row = row if self.platform.sends_row(row) else None
            if row is None and self.preview is None:
                return changed.is_set()
            wait = self._find_wait_seconds(row)
            if wait > 0:
                self.platform.rested.wake()
                with anyio.move_on_after(wait):
                    await changed.wait()
            elif row is not None:
                await self._deliver_row(row)
                if changed.is_set():  # another row may be first
                    self.following, self.is_empty = None, False
            elif self.preview is not None:
                await self._show_preview(self.preview)
        except JournalError as error:  # before the platform was called
            await retry_later(error)
        return True

    @property
    def is_blocked(self) -> bool:
        """Return whether a row must wait that no later one may overtake."""
        row = self._row
        if row is None or row.is_shown or self.sending:
            return False
        return self.platform.find_send_delay(row) > 0

    @property
    def _owner(self) -> str:
        """Whose the next message is, or the growing answer; empty if there is neither."""
        shown = self._row or self.preview
        return "" if shown is None else shown.owner

    async def _find_next_row(self) -> OutboxRow | None:
        """Return the row to send next; a preview need not wait for text that is already shown."""
        row = await self.platform.store.read(outbox.find_next_row, self.address.chat_key)
        offered = self.preview is not None and self.preview.offered
        if offered and row is not None and row.is_shown:
            return None if self.platform.find_send_delay(row) > 0 else row
        return row

    def _find_wait_seconds(self, row: OutboxRow | None) -> float:
        """Return the seconds until there is work, unless the queue is woken before."""
        if row is not None:
            return self.platform.find_send_delay(row)
        offered = self.preview is not None and self.preview.offered
        return self.platform.find_hold_seconds(self.address.chat_id) if offered else math.inf

    async def wait_for_rate(self) -> bool:
        """Wait for the platform's rate; return False if the chat is held by then."""
        platform = self.platform
        self.paced = True
        platform.rested.wake()
        await platform.adapter.wait_for_rate(self.address.chat_id)
        if platform.handed_over.is_set():
            await anyio.sleep_forever()
        self.paced = False
        await platform.store.ensure_held(self._owner)
        return not platform.find_hold_seconds(self.address.chat_id)

    async def _begin_sending(self, row: OutboxRow, state: str) -> bool:
        """Commit T7 if the platform may be called; return False otherwise."""
        platform, now = self.platform, self.platform.clock
        again = int(platform.adapter.deduplicates)  # what is sent again with its key arrives once
        if not await self.wait_for_rate():
            return False
        facts = row.id, state, now(), again, row.owner
        if not await platform.store.transact(outbox.mark_sending, *facts, owner=row.owner):
            return False
        await platform.store.ensure_held(row.owner)
        held = platform.find_hold_seconds(row.chat_id) > 0  # since the commit began
        if held:
            await self.record_until_stored(outbox.requeue, row.id, HELD, now())
        return not held

    async def _deliver_row(self, row: OutboxRow) -> None:
        """Take the next step in delivering a row."""
        self.sending = True
        try:
            if row.mode == "edit" and row.lost:
                self._lost = self._lost or LostReplies(self.platform, self)
                await self._lost.look_for_reply(row)
            elif row.voice and row.media_id is None:
                await self.platform.speak(row)  # it is sent at the next look
            elif self._is_sent_whole(row):
                await self._send_row(row)
            else:
                await self._send_by_edit(row)
        except SendError as error:
            await self._record_failure(row, error)
        except (JournalError, StorageFailedError):
            raise
        except Exception as error:  # a fault in one message must not end the daemon
            log.exception("delivery_broke", chat=row.chat_key)
            final = row.attempt + 1 >= MAX_FAULTS
            outcome = SendOutcome.PERMANENT if final else SendOutcome.UNKNOWN
            await self._record_failure(row, SendError(f"{type(error).__name__}: {error}", outcome))
        finally:
            self.sending = False

    def _is_sent_whole(self, row: OutboxRow) -> bool:
        """Return whether a row is sent in one call, and can be looked for if that is lost."""
        return row.mode == "direct" or (row.is_whole and not self.platform.is_doubtful(row))

    async def _send_row(self, row: OutboxRow) -> None:
        platform, part = self.platform, build_part(row)
        store, adapter = platform.store, platform.adapter
        if row.approval_id is not None or row.choices is not None:
            buttons = await store.read(questions.build_choices, row, platform.clock())
            part = replace(part, choices=buttons)
        if row.media_id is not None and not adapter.is_read_from_journal:
            find = stored_files.find_outbound_file
            file = await store.transact(
                find, row.media_id, row.file_name or "file", owner=row.owner
            )
            if file is None:
                raise SendError(REMOVED, SendOutcome.PERMANENT)
            part = replace(part, file=file._replace(voice=row.voice))
        # A call that only wakes readers of the journal may be repeated, so T7 is not needed.
        if not adapter.is_read_from_journal and not await self._begin_sending(row, "sending"):
            return
        with limit_call("send", part.file.seconds if part.file else 0):
            message_id = await adapter.send(part)
        delivered = outbox.mark_delivered if row.approval_id is None else questions.mark_delivered
        following = await self.record_until_stored(delivered, row, message_id, platform.clock())
        self.following, self.is_empty = following, following is None
        platform.trust_chat(row)

    async def _send_by_edit(self, row: OutboxRow) -> None:
        platform = self.platform
        if row.ph_id is None:
            if await self._begin_sending(row, "ph_sending"):
                with limit_call("placeholder" if row.final else "preview"):
                    message_id = await platform.adapter.send(build_part(row, PLACEHOLDER))
                await self.record_until_stored(outbox.mark_placeholder_sent, row.id, message_id)
                platform.trust_chat(row)
        elif await self._begin_sending(row, "sending"):
            with limit_call("edit"):
                await platform.adapter.edit(build_part(row), row.ph_id)
            await self.record_until_stored(outbox.mark_delivered, row, row.ph_id, platform.clock())

    async def _show_preview(self, preview: Preview) -> None:
        try:
            await self._refresh_preview(preview)
        except (JournalError, StorageFailedError):
            raise
        except Exception:  # nor must a fault in a preview
            log.exception("preview_broke", chat=self.address.chat_key)
            preview.stop_showing()

    async def _refresh_preview(self, preview: Preview) -> None:
        """Show the growing answer, unless a row is waiting by now."""
        platform, address = self.platform, self.address
        if not await self.wait_for_rate() or await self._find_next_row() is not None:
            return
        message_id = await platform.store.read(outbox.find_preview_message, preview.turn_id)
        preview.offered = False
        if message_id is None:  # it is not sent yet, or the reply takes its place
            return
        shown = platform.adapter.split(preview.text, UNFINISHED)[0]
        part = OutboundPart(
            chat_id=address.chat_id,
            text=shown.text,
            thread_id=address.thread_id or None,
            rendered=shown.rendered,
        )
        try:
            with limit_call("refresh"):
                await platform.adapter.edit(part, message_id)
        except SendError as error:
            log.debug("preview_failed", chat=address.chat_key, problem=str(error))
            platform.hold_after_refusal(address.chat_id, error)
            if error.retry_after is None:
                preview.stop_showing()
            else:
                preview.offer_refresh()
            if error.outcome is SendOutcome.UNKNOWN:
                await self.record_until_stored(
                    outbox.repeat_final_edit, preview.turn_id, message_id
                )

    async def _record_failure(self, row: OutboxRow, error: SendError) -> None:
        log.warning("send_failed", chat=row.chat_key, outcome=error.outcome, problem=str(error))
        self.platform.hold_after_refusal(row.chat_id, error)
        now = self.platform.clock()
        if row.is_shown and error.outcome in (SendOutcome.PERMANENT, SendOutcome.GONE):
            await self.record_until_stored(outbox.mark_delivered, row, row.msg_id, now)
        elif error.outcome is SendOutcome.PERMANENT:
            await self.record_until_stored(outbox.mark_refused, row.id, str(error), now)
        elif error.outcome is SendOutcome.GONE:
            await self.record_until_stored(outbox.forget_placeholder, row.id)
        else:
            wait = error.retry_after or 2.0 ** min(row.attempt, 10)
            later = now + math.ceil(min(MAX_RETRY_DELAY, wait) * 1000)
            unknown = error.outcome is SendOutcome.UNKNOWN
            lost = row.lost or (unknown and self._is_sent_whole(row))
            if unknown:
                self.platform.set_doubtful(row.chat_id)
            if unknown and row.mode == "direct":
                await self.record_until_stored(
                    outbox.mark_unconfirmed, row.id, str(error), now, later
                )
            elif lost:
                later = max(later, now + LATE_EDIT)
                await self.record_until_stored(outbox.delay_search, row.id, str(error), later)
            else:
                await self.record_until_stored(outbox.requeue, row.id, str(error), later)

    async def record_until_stored(self, work: Callable[..., T], *args: object) -> T:
        """Repeat T8 until it succeeds: only this process knows what the platform did."""
        while True:
            try:
                return await self.platform.store.transact(work, *args, owner=self._owner)
            except FencedError:
                raise  # it had been given to another node, which finds out by itself
            except JournalError as error:
                await retry_later(error)
