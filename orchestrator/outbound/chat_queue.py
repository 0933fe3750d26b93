"""The queue of one chat: its rows of the outbox in their order, and its preview.

One task makes all calls of a chat, one after another. So nothing that was queued later stands
before what was queued earlier (invariant 23), and no edit overtakes another.

What is known after a failed call decides what happens next. A message that certainly did not arrive
is sent again. An edit is repeated, since that changes nothing: also one that was accepted, if an
earlier edit of the message may land after it. A reply that may have arrived is looked for, and sent
behind a mark if it may stand in too many places. Another message that may have arrived is repeated
only if its row says that a second copy does no harm.
"""

import math
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import anyio
import structlog

from orchestrator.channel_api import Adapter, OutboundPart, SendError, SendOutcome
from orchestrator.chat_texts import LATE
from orchestrator.errors import JournalError
from orchestrator.failpoints import failpoint
from orchestrator.journal.db.store import Store, retry_later
from orchestrator.journal.db.writer import StorageFailedError
from orchestrator.journal.turns import outbox, questions, stored_files
from orchestrator.journal.turns.message_numbers import free_numbers, number_before
from orchestrator.journal.turns.outbox import LATE_EDIT, UNFINISHED, Address, OutboxRow
from orchestrator.outbound.flood_control import FloodControl
from orchestrator.outbound.preview import Preview
from orchestrator.wakeup import Wakeup

PLACEHOLDER = "…"  # what a chat sees for a moment before a reply whose first sending failed
MAX_PLACES = 100  # messages among which a lost one is looked for
REPEATED = LATE.format(text="").rstrip()  # stands before a reply that may be a repetition
REMOVED = "the file was removed because of its age"
HELD = "the platform wanted nothing sent"
MAX_RETRY_DELAY = 60.0  # seconds
MAX_FAULTS = 3  # attempts to send a message in which an adapter may break
CALL_TIMEOUT = 60.0  # seconds for one platform call, beyond the adapter's own limits
Speak: TypeAlias = Callable[[OutboxRow], Awaitable[None]]
log = structlog.get_logger()


@dataclass(frozen=True)
class Platform:
    """What the queues of a channel share. ``clock`` returns milliseconds since the epoch.

    ``rested`` is woken when a queue has nothing to send now, or waits for the platform's rate.
    ``speak`` gives a row that is to be spoken its file, or makes it a text. Once another daemon
    follows (``handed_over``), no further call is made.
    """

    store: Store
    adapter: Adapter
    flood: FloodControl
    clock: Callable[[], int]
    rested: Wakeup
    speak: Speak
    handed_over: anyio.Event = field(default_factory=anyio.Event)
    _doubts: dict[str, bool] = field(default_factory=dict)

    def doubtful(self, chat_id: str) -> bool:
        """Return whether a chat's last messages may be of this bot and in no row of the journal.

        After an unclean end they may be, until the journal has the number of one that was sent.
        """
        return self._doubts.get(chat_id, self.store.unclean)

    def doubt(self, chat_id: str, *, doubtful: bool = True) -> None:
        """Set whether they may be: the journal lacks or has the number of the last message."""
        if doubtful is not self.doubtful(chat_id):
            self._doubts[chat_id] = doubtful

    def held(self, chat_id: str) -> float:
        """Return the seconds for which the platform wants nothing sent to a chat."""
        return self.flood.left(self.adapter.name, chat_id, anyio.current_time())

    def delay(self, row: OutboxRow) -> float:
        """Return the seconds until a row may be sent.

        A longer delay than any that is written means that the clock was set back since.
        """
        delay = (row.not_before - self.clock()) / 1000
        return max(self.held(row.chat_id), 0.0 if delay > MAX_RETRY_DELAY else delay)

    def refused(self, chat_id: str, error: SendError) -> None:
        """Hold a chat, or all, if the platform asked for it."""
        if error.retry_after:
            now = anyio.current_time()
            held = self.flood.refused(self.adapter.name, chat_id, error.retry_after, now)
            log.warning("held", channel=held.channel, chat=held.chat_id, seconds=held.seconds)


class ChatQueue(Wakeup):
    """Sends what one chat is to see. ``preview`` is that of the turn that is being answered."""

    def __init__(self, platform: Platform, address: Address) -> None:
        super().__init__()
        self.preview: Preview | None = None
        self.sending = False  # a row, or storing what became of it
        self.paced = False  # it waits before a call of the platform
        self._row: OutboxRow | None = None  # that is sent next
        self._bound: tuple[int, str] | None = None  # a lost row, and a placeholder sent after it
        self._address = address
        self._platform = platform
        self._store = platform.store
        self._adapter = platform.adapter
        self._clock = platform.clock

    async def run(self) -> None:
        """Send until nothing is left and no answer is being written; look again at each wake."""
        while True:
            changed = self.changed
            self._row = None  # while it looks it is not blocked: what is new now may be missed
            try:
                self._row = row = await self._next()
                if row is None and self.preview is None:
                    if changed.is_set():
                        continue
                    return
                wait = self._wait(row)
                if wait > 0:
                    self._platform.rested.wake()
                    with anyio.move_on_after(wait):
                        await changed.wait()
                elif row is not None:
                    await self._deliver(row)
                elif self.preview is not None:
                    await self._show(self.preview)
            except JournalError as error:  # before the platform was called
                await retry_later(error)

    @property
    def blocked(self) -> bool:
        """Return whether a row has to wait that no later one may overtake."""
        row = self._row
        return row is not None and not row.shown and self._platform.delay(row) > 0

    async def _next(self) -> OutboxRow | None:
        """Return the row to send next; a preview need not wait for a text that was shown."""
        row = await self._store.read(outbox.first, self._address.chat_key)
        early = row is not None and row.shown and self._platform.delay(row) > 0
        return None if early and self._offered else row

    def _wait(self, row: OutboxRow | None) -> float:
        """Return the seconds until there is something to do, unless the queue is woken before."""
        idle = self._platform.held(self._address.chat_id) if self._offered else math.inf
        return idle if row is None else self._platform.delay(row)

    @property
    def _offered(self) -> bool:
        return self.preview is not None and self.preview.offered

    async def _admitted(self) -> bool:
        """Wait for the platform's rate; return false if the chat is held by then."""
        self.paced = True
        self._platform.rested.wake()
        await self._adapter.pace(self._address.chat_id)
        if self._platform.handed_over.is_set():
            await anyio.sleep_forever()
        self.paced = False
        await self._store.still_held()
        return not self._platform.held(self._address.chat_id)

    async def _begun(self, row: OutboxRow, state: str) -> bool:
        """Commit T7 when the platform may be called; return false if it may not."""
        again = int(self._adapter.keyed)  # what is sent again with its key arrives once
        if not (
            await self._admitted()
            and await self._store.transact(outbox.sending, row.id, state, self._clock(), again)
        ):
            return False
        await self._store.still_held()
        held = self._platform.held(row.chat_id) > 0  # since the commit began
        if held:
            await self._record(outbox.requeue, row.id, HELD, self._clock())
        return not held

    async def _deliver(self, row: OutboxRow) -> None:
        self.sending = True
        try:
            if row.lost:
                await self._look_for(row)
            elif row.voice and row.media_id is None:
                await self._platform.speak(row)  # it is sent at the next look
            else:
                await (self._send(row) if self._whole(row) else self._edit(row))
        except SendError as error:
            await self._failed(row, error)
        except (JournalError, StorageFailedError):
            raise
        except Exception as error:  # a fault in one message must not end the daemon
            log.exception("delivery_broke", chat=row.chat_key)
            final = row.attempt + 1 >= MAX_FAULTS
            outcome = SendOutcome.PERMANENT if final else SendOutcome.UNKNOWN
            await self._failed(row, SendError(f"{type(error).__name__}: {error}", outcome))
        finally:
            self.sending = False

    def _whole(self, row: OutboxRow) -> bool:
        """Return whether a row is sent in one call; it could be looked for if that was lost."""
        return row.whole and (row.mode == "direct" or not self._platform.doubtful(row.chat_id))

    async def _send(self, row: OutboxRow) -> None:
        # A call that only wakes readers of the journal may be repeated, so T7 is not needed.
        part = _part(row)
        if row.approval_id is not None:
            buttons = await self._store.read(questions.choices, row, self._clock())
            part = replace(part, choices=buttons)
        if row.media_id is not None and not self._adapter.from_journal:
            name = row.file_name or "file"
            file = await self._store.transact(stored_files.outbound, row.media_id, name)
            if file is None:
                raise SendError(REMOVED, SendOutcome.PERMANENT)
            part = replace(part, file=file._replace(voice=row.voice))
        if not self._adapter.from_journal and not await self._begun(row, "sending"):
            return
        with _bounded("send", part.file.seconds if part.file else 0):
            message_id = await self._adapter.send(part)
        await self._record(questions.delivered, row, message_id, self._clock())
        self._platform.doubt(row.chat_id, doubtful=False)

    async def _edit(self, row: OutboxRow) -> None:
        if row.ph_id is None:
            if await self._begun(row, "ph_sending"):
                with _bounded("placeholder" if row.final else "preview"):
                    message_id = await self._adapter.send(_part(row, PLACEHOLDER))
                await self._record(outbox.placeholder_sent, row.id, message_id)
                self._platform.doubt(row.chat_id, doubtful=False)
        elif await self._begun(row, "sending"):
            with _bounded("edit"):
                await self._adapter.edit(_part(row), row.ph_id)
            await self._record(outbox.delivered, row.id, row.ph_id, self._clock())

    async def _look_for(self, row: OutboxRow) -> None:
        """Find where a reply stands whose sending got no answer; if nowhere, put it in a new place.

        It is the next message of the bot, or one of few up to a placeholder that is sent now; the
        messages that the journal knows are left out.
        """
        before = await self._store.read(number_before, row)
        nearest = await self._store.read(free_numbers, row, before + 1, before + MAX_PLACES)
        if await self._found(row, nearest[:1]) or not await self._admitted():
            return
        if self._bound is None or self._bound[0] != row.id:
            with _bounded("placeholder"):
                self._bound = row.id, await self._adapter.send(_part(row, PLACEHOLDER))
        _, placeholder = self._bound
        after = int(placeholder) if placeholder.isdecimal() else 0
        places = await self._store.read(free_numbers, row, before + 1, after - 1)
        if after <= before or len(places) > MAX_PLACES:
            await self._send_again(row)
        elif not await self._found(row, [place for place in places if place not in nearest[:1]]):
            await self._record(outbox.placeholder_sent, row.id, placeholder)

    async def _send_again(self, row: OutboxRow) -> None:
        """Tell a chat that the next message may be a repetition, and then queue it again."""
        if await self._admitted():
            with _bounded("placeholder"):
                await self._adapter.send(_part(row, REPEATED))
            await self._unbind(row)
            await self._record(outbox.forget_placeholder, row.id)

    async def _found(self, row: OutboxRow, numbers: Iterable[int]) -> bool:
        """Try to edit messages; return whether one was the bot's, or the rest has to wait."""
        for number in numbers:
            if not await self._admitted():
                return True
            try:
                with _bounded("edit"):
                    await self._adapter.edit(_part(row), str(number))
            except SendError as error:
                if error.outcome is not SendOutcome.GONE:
                    raise
            else:
                await self._unbind(row)
                await self._record(outbox.delivered, row.id, str(number), self._clock())
                return True
        return False

    async def _unbind(self, row: OutboxRow) -> None:
        """Remove the placeholder that a lost row does not take; one that stays does no harm."""
        if self._bound is not None and self._bound[0] == row.id:
            _, placeholder = self._bound
            self._bound = None
            with suppress(SendError), _bounded("remove"):
                await self._adapter.remove(row.chat_id, placeholder)

    async def _show(self, preview: Preview) -> None:
        try:
            await self._refresh(preview)
        except (JournalError, StorageFailedError):
            raise
        except Exception:  # nor must a fault in an unfinished answer
            log.exception("preview_broke", chat=self._address.chat_key)
            preview.refuse()

    async def _refresh(self, preview: Preview) -> None:
        """Show how the answer has grown, unless a row waits by now."""
        if not await self._admitted() or await self._next() is not None:
            return
        message_id = await self._store.read(outbox.preview_message, preview.turn_id)
        preview.offered = False
        if message_id is None:  # it is not sent yet, or the reply takes its place
            return
        shown = self._adapter.split(preview.text, UNFINISHED)[0]
        part = OutboundPart(
            chat_id=self._address.chat_id,
            text=shown.text,
            thread_id=self._address.thread_id or None,
            rendered=shown.rendered,
        )
        try:
            with _bounded("refresh"):
                await self._adapter.edit(part, message_id)
        except SendError as error:
            log.debug("preview_failed", chat=self._address.chat_key, problem=str(error))
            self._platform.refused(self._address.chat_id, error)
            if error.retry_after is None:
                preview.refuse()
            else:
                preview.offer()
            if error.outcome is SendOutcome.UNKNOWN:
                await self._record(outbox.preview_unknown, preview.turn_id, message_id)

    async def _failed(self, row: OutboxRow, error: SendError) -> None:
        log.warning("send_failed", chat=row.chat_key, outcome=error.outcome, problem=str(error))
        self._platform.refused(row.chat_id, error)
        now = self._clock()
        if row.shown and error.outcome in (SendOutcome.PERMANENT, SendOutcome.GONE):
            await self._record(outbox.delivered, row.id, row.msg_id, now)
        elif error.outcome is SendOutcome.PERMANENT:
            await self._record(outbox.refused, row.id, str(error), now)
        elif error.outcome is SendOutcome.GONE:
            await self._record(outbox.forget_placeholder, row.id)
        else:
            wait = error.retry_after or 2.0 ** min(row.attempt, 10)
            later = now + math.ceil(min(MAX_RETRY_DELAY, wait) * 1000)
            unknown = error.outcome is SendOutcome.UNKNOWN
            lost = row.lost or (unknown and self._whole(row))
            if unknown:
                self._platform.doubt(row.chat_id)
            if unknown and row.mode == "direct":
                await self._record(outbox.mark_unconfirmed, row.id, str(error), now, later)
            elif lost:
                later = max(later, now + LATE_EDIT)
                await self._record(outbox.look_later, row.id, str(error), later)
            else:
                await self._record(outbox.requeue, row.id, str(error), later)

    async def _record(self, work: Callable[..., None], *args: object) -> None:
        """Run T8 until it succeeds: only this process knows what the platform did."""
        while True:
            try:
                return await self._store.transact(work, *args)
            except JournalError as error:
                await retry_later(error)


@contextmanager
def _bounded(name: str, more: float = 0) -> Iterator[None]:
    """Limit a platform call between two failpoints; one that times out may still have worked.

    ``more`` is the time, in seconds, that its file takes.
    """
    failpoint(f"{name}:before")
    try:
        with anyio.fail_after(CALL_TIMEOUT + more):
            yield
        failpoint(f"{name}:after")
    except TimeoutError:
        raise SendError("the platform did not answer", SendOutcome.UNKNOWN) from None


def _part(row: OutboxRow, placeholder: str = "") -> OutboundPart:
    """Return the message of a row; a final text begins as ``placeholder``, if there is one."""
    replaced = row.final and bool(placeholder)
    return OutboundPart(
        chat_id=row.chat_id,
        text=placeholder if replaced else "" if row.voice else row.body,
        thread_id=row.thread_id or None,
        markdown=row.markdown and not replaced,
        reply_to=row.reply_to,
        rendered=None if replaced else row.rendered,
        key=row.key,
        queued_at=row.created_at,
    )
