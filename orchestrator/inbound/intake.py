"""Store the messages of channels as inbox rows: admission, then T1.

Admission is decided first, so that the text of a refused message is not stored, but for the few
that a chat writes while it waits to be paired.
"""

import secrets
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple, Protocol

import anyio
import anyio.lowlevel
import structlog

from orchestrator.agentsfile import AgentsFile
from orchestrator.channel_api import PRESS, InboundMessage, OutboundPart
from orchestrator.errors import JournalError
from orchestrator.inbound.admission import (
    LOCAL,
    AdmissionDecision,
    judge,
    pairing_code,
    pairing_text,
    passed_over,
)
from orchestrator.inbound.button_press import NOT_OPERATOR
from orchestrator.inbound.commands import Command, Commands
from orchestrator.journal.access import pairing
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store
from orchestrator.journal.db.writer import StorageFullError
from orchestrator.journal.turns import chat_moves, inbox
from orchestrator.journal.turns.inbox import Arrival, Offset
from orchestrator.loop_owned import LoopOwned

NO_SPACE = (
    "My storage is full, so I cannot take your message yet. It is not lost: I will answer when"
    " there is space again."
)
EDIT = "edit"
ANSWERED = "an edit of a message that was answered"  # why such an edit is ignored
MAX_TOLD = 5  # refusals of one batch in the log
NOTICE_SECONDS = 10.0  # timeout of sending `NO_SPACE`; nothing depends on it
log = structlog.get_logger()


class ChatQueues(Protocol):
    """The dispatcher, which answers the messages of each chat in order."""

    def opening(self, chats: Collection[str]) -> AbstractContextManager[Callable[[Database], None]]:
        """Hold these chats while their messages are stored; see `Dispatcher.opening`."""


@dataclass(eq=False)
class JournalIntake(LoopOwned):
    """The `Intake` of every channel.

    ``on_answer`` is called after a commit that may have answered messages by itself, ``on_move``
    after one that gave a chat a new id. When the disk is full, the outbox cannot store a notice, so
    ``tell`` sends it; see `Delivery.tell`.
    """

    store: Store
    agents: Callable[[], AgentsFile]
    tell: Callable[[str, OutboundPart], Awaitable[bool]]
    queues: ChatQueues
    on_answer: Callable[[], None]
    commands: Commands
    clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000
    random: Callable[[int], bytes] = secrets.token_bytes
    on_move: Callable[[], Awaitable[object]] = anyio.lowlevel.checkpoint
    # Chats that know of the full disk.
    _notified: set[tuple[str, str]] = field(default_factory=set, init=False)

    async def offset(self, channel: str, bot_id: str) -> int:
        """Return the next update number to fetch; 0 if none was ever stored."""
        return await self.store.transact(inbox.next_offset, channel, bot_id)

    async def cursor(self, channel: str, bot_id: str) -> str:
        """Return where a channel without update numbers goes on; empty before its first message."""
        return await self.store.transact(inbox.cursor, channel, bot_id)

    async def begin(self, channel: str, bot_id: str, cursor: str) -> None:
        """Store where a channel goes on, without a message."""
        await self.store.transact(inbox.go_on, Offset(channel, bot_id, cursor))

    async def moves(self, channel: str) -> dict[str, str]:
        """Return the first ids of the channel's chats that have a new id, by the new ids."""
        return await self.store.read(chat_moves.every, channel)

    async def moved(self, channel: str, bot_id: str, old_id: str, new_id: str) -> None:
        """Store that a chat has a new id, and let agents.json be read with both of them."""
        now = self.clock()
        if await self.store.transact(chat_moves.move_chat, channel, bot_id, old_id, new_id, now):
            log.warning("chat_moved", channel=channel, old=old_id, new=new_id)
            await self.on_move()
            self.on_answer()  # messages that wait may have changed their queue

    async def accept(
        self, messages: Sequence[InboundMessage], offset: int | str | None = None
    ) -> Mapping[str, str]:
        """Commit T1: store updates and the channel's next offset in one transaction.

        Raises:
            StorageFullError: the disk is full; each admitted chat got one notice of it.
        """
        if not messages:
            return {}
        if not all(message.private for message in messages):  # only groups get a new id
            first = await self.store.read(chat_moves.every, messages[0].channel)
            messages = [chat_moves.renamed(message, first) for message in messages]
        read = [(message, self.commands.read(message)) for message in messages]
        agents = self.agents()
        chats = {
            inbox.address_of(message).chat_key
            for message, command in read
            if command is None and (message.album or _is_for_agent(agents, message))
        }
        try:
            with self.queues.opening(chats) as admit:
                batch = _Batch(read, offset, agents, self.clock(), self.random)
                admitted, outcomes = await self.store.attempt(_ingest, batch, admit)
        except StorageFullError:
            await self._notify_full(messages)
            raise
        self._notified.clear()
        if any(command for _, command in read):
            self.commands.on_commit(outcomes.stopped)
        for name, error in outcomes.failed:
            log.error("command_failed", command=name, exc_info=error)
        answered = len(admitted) < len(messages)  # without an agent
        log_it = log.info if answered else log.debug
        counts = {"stored": len(admitted), "received": len(messages)}
        log_it("messages_accepted", **counts, refused=list(outcomes.refused)[:MAX_TOLD])
        if answered:
            self.on_answer()
        return outcomes.pressed

    async def _notify_full(self, messages: Sequence[InboundMessage]) -> None:
        with suppress(JournalError, TimeoutError), anyio.fail_after(NOTICE_SECONDS):
            agents, paired = self.agents(), await self.store.attempt(pairing.approved)
            for message in messages:
                chat = (message.channel, message.chat_id)
                verdict = judge(agents, message, paired).verdict
                if chat in self._notified or message.skip or verdict is not AdmissionDecision.ADMIT:
                    continue
                self._notified.add(chat)
                part = OutboundPart(message.chat_id, NO_SPACE, message.thread_id, markdown=False)
                if not await self.tell(message.channel, part):
                    self._notified.discard(chat)


class _Batch(NamedTuple):
    """Messages that came together, with their commands, and what storing them needs."""

    messages: Sequence[tuple[InboundMessage, Command | None]]
    offset: int | str | None
    agents: AgentsFile
    now: int
    random: Callable[[int], bytes]


@dataclass
class _Outcomes:
    """What happened inside T1: the turns that commands canceled, their errors, answers to presses.

    ``refused`` says of each chat that gets no answer why, once.
    """

    stopped: list[str] = field(default_factory=list)
    failed: list[tuple[str, Exception]] = field(default_factory=list)
    pressed: dict[str, str] = field(default_factory=dict)
    refused: dict[str, None] = field(default_factory=dict)


def _ingest(
    db: Database, batch: _Batch, admit: Callable[[Database], None]
) -> tuple[list[int], _Outcomes]:
    """Return the rows that an agent should answer, and what commands did."""
    local, outcomes = batch.messages[0][0].channel in LOCAL, _Outcomes()
    paired = frozenset() if local else pairing.approved(db)
    arrivals = [
        _arrival(db, batch, message, command, paired, outcomes)
        for message, command in batch.messages
    ]
    for arrival in arrivals:
        if arrival.refusal is not None:
            why = f"{arrival.refusal}, held until it is" if arrival.held else arrival.refusal
            outcomes.refused[f"{inbox.address_of(arrival.message).name}: {why}"] = None
    following = None
    if batch.offset is not None:
        first, _ = batch.messages[0]
        following = Offset(first.channel, first.bot_id, batch.offset)
    admitted = inbox.ingest(db, arrivals, following, batch.now)
    admit(db)
    return admitted, outcomes


def _is_for_agent(agents: AgentsFile, message: InboundMessage) -> bool:
    """Return whether an agent answers a message if its chat is admitted."""
    return message.skip is None and not passed_over(agents, message)


def _arrival(
    db: Database,
    batch: _Batch,
    message: InboundMessage,
    command: Command | None,
    paired: frozenset[tuple[str, str]],
    outcomes: _Outcomes,
) -> Arrival:
    admission = judge(batch.agents, message, paired)
    if admission.verdict is AdmissionDecision.ADMIT:
        if message.skip is not None:
            return Arrival(message, message.skip, message.notice)
        if message.kind == EDIT and inbox.answered(db, message):
            return Arrival(message, ANSWERED)
        if command is None:
            return Arrival(message)
        own = replace(
            command, operator=admission.operator, stopped=outcomes.stopped, failed=outcomes.failed
        )
        if message.kind == PRESS:
            return Arrival(message, command=partial(_press, own, outcomes.pressed))
        return Arrival(message, command=own.answer)
    notice, held = None, False
    if message.kind == PRESS and message.skip is None:
        outcomes.pressed[message.message_id] = NOT_OPERATOR
    elif admission.verdict is AdmissionDecision.PAIR and message.private:
        code = pairing.ask(
            db,
            inbox.address_of(message),
            message.sender_name,
            pairing_code(batch.random(8)),
            batch.now,
            message.sender_id,
        )
        notice = None if code is None else pairing_text(code)
        said = command is None and message.skip is None  # what an agent would answer
        held = said and pairing.waits(db, message.channel, message.chat_id)
    return Arrival(message, admission.reason, notice, held=held)


def _press(command: Command, pressed: dict[str, str], db: Database) -> None:
    pressed[command.message.message_id] = command.answer(db)
