"""Store the messages of channels as inbox rows: admission, then T1.

Admission is decided first: the text of a refused message is not stored, except for a few messages
of a chat that waits to be paired.

Where: is a message stored together with its channel's offset (T1)?
"""

import secrets
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from typing import Protocol

import anyio
import anyio.lowlevel
import structlog

from orchestrator.agentsfile import AgentsFile
from orchestrator.channel_api import PRESS, InboundMessage, OutboundPart
from orchestrator.errors import JournalError
from orchestrator.inbound.admission import AdmissionDecision, is_passed_over, judge_message
from orchestrator.inbound.arrivals import ArrivalBatch, ArrivalOutcomes, build_arrivals
from orchestrator.inbound.commands import Commands
from orchestrator.journal.access import pairing
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store
from orchestrator.journal.db.writer import StorageFullError
from orchestrator.journal.turns import chat_moves, inbox
from orchestrator.journal.turns.inbox import Offset
from orchestrator.loop_bound import LoopBound
from orchestrator.placement import Placement, SingleNode, name_account_owner

NO_SPACE = (
    "My storage is full, so I cannot take your message yet. It is not lost: I will answer when"
    " there is space again."
)
MAX_LOGGED = 5  # refusals of one batch in the log
NOTICE_SECONDS = 10.0  # timeout of sending `NO_SPACE`; nothing depends on it
log = structlog.get_logger()


class ChatQueues(Protocol):
    """The dispatcher, which answers the messages of each chat in order."""

    def hold_chats(
        self, chats: Collection[str]
    ) -> AbstractContextManager[Callable[[Database], None]]:
        """Hold these chats while their messages are stored; see `Dispatcher.hold_chats`."""


@dataclass(eq=False)
class JournalIntake(LoopBound):
    """The `Intake` of every channel.

    ``on_answer`` is called after a commit that may have answered messages by itself, ``on_move``
    after one that gave a chat a new id. When the disk is full, the outbox cannot store a notice, so
    ``tell`` sends it; see `Delivery.send_unstored`.
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
    placement: Placement = field(default_factory=SingleNode)
    # Chats that were notified of the full disk.
    _notified: set[tuple[str, str]] = field(default_factory=set, init=False)

    async def load_offset(self, channel: str, bot_id: str) -> int:
        """Return the next update number to fetch; 0 if none was ever stored."""
        return await self.store.transact(inbox.load_next_offset, channel, bot_id)

    async def load_cursor(self, channel: str, bot_id: str) -> str:
        """Return the cursor of a channel without update numbers; empty before its first message."""
        return await self.store.transact(inbox.load_cursor, channel, bot_id)

    async def store_cursor(self, channel: str, bot_id: str, cursor: str) -> None:
        """Store the channel's cursor without a message."""
        offset = Offset(channel, bot_id, cursor)
        await self.store.transact(inbox.store_offset, offset, owner=name_account_owner(channel))

    async def list_chat_moves(self, channel: str) -> dict[str, str]:
        """Return the first ids of the channel's moved chats, keyed by new id."""
        return await self.store.read(chat_moves.load_chat_moves, channel)

    async def record_chat_move(self, channel: str, bot_id: str, old_id: str, new_id: str) -> None:
        """Store that a chat has a new id, and accept both ids in agents.json."""
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
            first = await self.store.read(chat_moves.load_chat_moves, messages[0].channel)
            messages = [chat_moves.rename_moved_chat(message, first) for message in messages]
        read = [
            (message, self.commands.parse_command(message))
            if message.kind == PRESS or "/" in message.text
            else (message, None)
            for message in messages
        ]
        agents = self.agents()
        chats = {
            inbox.make_address(message).chat_key
            for message, command in read
            if (command is None or not message.personal)
            and (message.album or _is_for_agent(agents, message))
        }
        commanded = any(command for _, command in read)
        try:
            with self.queues.hold_chats(chats) as admit:
                share = self.placement.share
                batch = ArrivalBatch(read, offset, agents, self.clock(), self.random, share)
                owner = "" if offset is None else name_account_owner(messages[0].channel)
                admitted, outcomes = await self.store.transact_once(
                    _ingest, batch, admit, owner=owner
                )
        except StorageFullError:
            await self._notify_storage_full(messages)
            raise
        self._notified.clear()
        if commanded:
            self.commands.on_commit(outcomes.stopped)
        for name, error in outcomes.failed:
            log.error("command_failed", command=name, exc_info=error)
        answered = len(admitted) < len(messages)  # without an agent
        log_it = log.info if answered else log.debug
        counts = {"stored": len(admitted), "received": len(messages)}
        log_it("messages_accepted", **counts, refused=list(outcomes.refused)[:MAX_LOGGED])
        if answered:
            self.on_answer()
        return outcomes.pressed

    async def _notify_storage_full(self, messages: Sequence[InboundMessage]) -> None:
        with suppress(JournalError, TimeoutError), anyio.fail_after(NOTICE_SECONDS):
            agents, paired = self.agents(), await self.store.transact_once(pairing.load_roles)
            for message in messages:
                chat = (message.channel, message.chat_id)
                verdict = judge_message(agents, message, paired).verdict
                if chat in self._notified or message.skip or verdict is not AdmissionDecision.ADMIT:
                    continue
                self._notified.add(chat)
                part = OutboundPart(message.chat_id, NO_SPACE, message.thread_id, markdown=False)
                if not await self.tell(message.channel, part):
                    self._notified.discard(chat)


def _ingest(
    db: Database, batch: ArrivalBatch, admit: Callable[[Database], None]
) -> tuple[list[int], ArrivalOutcomes]:
    """Store the messages; return the rows for agents, and the results of commands."""
    arrivals, outcomes = build_arrivals(db, batch)
    following = None
    if batch.offset is not None:
        first, _ = batch.messages[0]
        following = Offset(first.channel, first.bot_id, batch.offset)
    admitted = inbox.ingest(db, arrivals, following, batch.now)
    admit(db)
    return admitted, outcomes


def _is_for_agent(agents: AgentsFile, message: InboundMessage) -> bool:
    """Return whether an agent answers the message, once its chat is admitted."""
    return message.skip is None and not is_passed_over(agents, message)
