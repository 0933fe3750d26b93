"""Store the messages of channels as inbox rows: admission, then T1.

Admission is decided first, so that the text of a refused message is never stored.
"""

import secrets
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from typing import Protocol

import anyio
import apsw
import structlog

from orchestrator.agentsfile import AgentsFile
from orchestrator.channel_api import Adapter, InboundMessage, OutboundPart, SendError
from orchestrator.errors import JournalError
from orchestrator.inbound.admission import (
    Admission,
    AdmissionDecision,
    decide,
    pairing_code,
    pairing_text,
)
from orchestrator.inbound.commands import Command, Commands
from orchestrator.journal.access import pairing
from orchestrator.journal.db.store import StorageFullError, Store
from orchestrator.journal.turns import inbox
from orchestrator.journal.turns.inbox import Arrival, Offset

NO_SPACE = (
    "My storage is full, so I cannot take your message yet. It is not lost: I will answer when"
    " there is space again."
)
EDIT = "edit"
ANSWERED = "an edit of a message that was answered"  # why such an edit is ignored
NOTICE_SECONDS = 10.0  # timeout of sending `NO_SPACE`; nothing depends on it
log = structlog.get_logger()


class ChatQueues(Protocol):
    """The dispatcher, which answers the messages of each chat in order."""

    def opening(
        self, chats: Collection[str]
    ) -> AbstractContextManager[Callable[[apsw.Connection], None]]:
        """Hold these chats while their messages are stored; see `Dispatcher.opening`."""


@dataclass(eq=False)
class JournalIntake:
    """The `Intake` of every channel.

    ``on_answer`` is called after a commit that may have answered messages by itself. When the disk
    is full, the outbox cannot store a notice, so ``adapters`` send it.
    """

    store: Store
    agents: Callable[[], AgentsFile]
    adapters: Mapping[str, Adapter]
    queues: ChatQueues
    on_answer: Callable[[], None]
    commands: Commands
    clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000
    random: Callable[[int], bytes] = secrets.token_bytes
    # Chats that know of the full disk.
    _notified: set[tuple[str, str]] = field(default_factory=set, init=False)

    async def offset(self, channel: str, bot_id: str) -> int:
        """Return the next update number to fetch; 0 if none was ever stored."""
        return await self.store.transact(inbox.next_offset, channel, bot_id)

    async def accept(self, messages: Sequence[InboundMessage], offset: int | None = None) -> None:
        """Commit T1: store updates and the channel's next offset in one transaction.

        Raises:
            StorageFullError: the disk is full; each admitted chat got one notice of it.
        """
        if not messages:
            return
        commands = [self.commands.read(message) for message in messages]
        chats = {
            inbox.chat_key(message.channel, message.bot_id, message.chat_id, message.thread_id)
            for message, command in zip(messages, commands, strict=True)
            if message.skip is None and command is None
        }
        try:
            with self.queues.opening(chats) as admit:
                admitted = await self.store.attempt(self._ingest, messages, commands, offset, admit)
        except StorageFullError:
            await self._notify_full(messages)
            raise
        self._notified.clear()
        self.commands.committed([command for command in commands if command is not None])
        log.info("messages_accepted", stored=len(admitted), received=len(messages))
        if len(admitted) < len(messages):
            self.on_answer()

    async def _notify_full(self, messages: Sequence[InboundMessage]) -> None:
        with suppress(JournalError, TimeoutError), anyio.fail_after(NOTICE_SECONDS):
            paired = await self.store.attempt(pairing.approved)
            for message in messages:
                chat = (message.channel, message.chat_id)
                verdict = self._decide(message, paired).verdict
                if chat in self._notified or message.skip or verdict is not AdmissionDecision.ADMIT:
                    continue
                self._notified.add(chat)
                part = OutboundPart(message.chat_id, NO_SPACE, message.thread_id, markdown=False)
                with suppress(SendError):
                    await self.adapters[message.channel].send(part)

    def _decide(self, message: InboundMessage, paired: frozenset[tuple[str, str]]) -> Admission:
        agents = self.agents()
        telegram = agents.channels.telegram
        return decide(
            message,
            access=telegram.access,
            bound_chats={
                binding.chat_id for binding in agents.bindings if binding.channel == message.channel
            },
            allowlist=telegram.allowlist,
            paired={chat for channel, chat in paired if channel == message.channel},
        )

    def _ingest(
        self,
        db: apsw.Connection,
        messages: Sequence[InboundMessage],
        commands: Sequence[Command | None],
        offset: int | None,
        admit: Callable[[apsw.Connection], None],
    ) -> list[int]:
        now = self.clock()
        paired = pairing.approved(db)
        arrivals = [
            self._arrival(db, message, command, paired, now)
            for message, command in zip(messages, commands, strict=True)
        ]
        following = None
        if offset is not None:
            following = Offset(messages[0].channel, messages[0].bot_id, offset)
        admitted = inbox.ingest(db, arrivals, following, now)
        admit(db)
        return admitted

    def _arrival(
        self,
        db: apsw.Connection,
        message: InboundMessage,
        command: Command | None,
        paired: frozenset[tuple[str, str]],
        now: int,
    ) -> Arrival:
        admission = self._decide(message, paired)
        if admission.verdict is AdmissionDecision.ADMIT:
            if message.skip is not None:
                return Arrival(message, message.skip, message.notice)
            if message.kind == EDIT and inbox.answered(db, message):
                return Arrival(message, ANSWERED)
            if command is None:
                return Arrival(message)
            command.operator = admission.operator
            return Arrival(message, command=command.answer)
        notice = None
        if admission.verdict is AdmissionDecision.PAIR and message.private:
            code = pairing.ask(
                db,
                message.channel,
                message.chat_id,
                message.sender_name,
                pairing_code(self.random(8)),
                now,
            )
            notice = None if code is None else pairing_text(code)
        return Arrival(message, admission.reason, notice)
