"""A chat platform in memory, whose calls a test lets fail or wait."""

from collections import deque

import anyio

from orchestrator.channel_api import (
    ChannelStatus,
    Intake,
    OutboundPart,
    ReplyPart,
    SendError,
    SendOutcome,
)
from orchestrator.journal.turns.outbox import OutboxRow


class FakeChannel:
    """The `Adapter` of a platform that keeps what is sent to it."""

    name, bot_id, can_edit, can_show_files = "telegram", "1", True, True
    deduplicates = is_read_from_journal = False

    def __init__(self) -> None:
        self.status = ChannelStatus("telegram", "ok", last_ok=1000.0)
        self.sent: list[OutboundPart] = []
        self.edited: list[OutboundPart] = []
        self.texts: dict[str, str] = {}  # by message id, as a chat shows them
        self.pictures: dict[str, bytes] = {}
        # Of the next calls; a number is a refusal with that retry_after, None succeeds.
        self.outcomes: deque[SendOutcome | float | None] = deque()
        self.arrives = False  # whether a new message with the outcome UNKNOWN is shown
        self.refusals: deque[float] = deque()  # of the next typing indicators: retry_after
        self.calls: list[str] = []
        self.held: dict[str, anyio.Event] = {}  # chats whose calls wait
        self.reached: dict[str, anyio.Event] = {}  # chats that may have no call now
        self.waits: set[str] = set()  # chats of which a call has waited

    async def run(self, intake: Intake) -> None:
        """Receive nothing."""

    def split(self, text: str, mark: str = "") -> tuple[ReplyPart, ...]:
        """Return one part."""
        return (ReplyPart(text + mark),)

    async def wait_for_rate(self, chat_id: str) -> None:
        """Admit all calls but to chats whose rate is reached."""
        if chat_id in self.reached:
            self.waits.add(chat_id)
            await self.reached[chat_id].wait()

    async def send(self, part: OutboundPart) -> str:
        """Show a new message."""
        if part.chat_id in self.held:
            self.waits.add(part.chat_id)
            await self.held[part.chat_id].wait()
        if self.arrives and self.outcomes and self.outcomes[0] is SendOutcome.UNKNOWN:
            self._show(part)
        self._call("send")
        return self._show(part)

    async def edit(self, part: OutboundPart, message_id: str) -> None:
        """Replace the text of a message."""
        self._call("edit")
        chats = [shown.chat_id for shown in self.sent[int(message_id) - 1 :][:1]]
        if message_id not in self.texts or chats not in ([], [part.chat_id]):
            raise SendError("message to edit not found", SendOutcome.GONE)
        self.edited.append(part)
        self.texts[message_id] = part.text

    async def remove(self, chat_id: str, message_id: str) -> None:
        """Take a message out of its chat."""
        del chat_id
        self._call("remove")
        del self.texts[message_id]

    def show_unfinished_answer(self, chat_id: str, text: str) -> None:
        """Show nothing."""

    async def download(self, handle: str, limit: int) -> bytes:
        """Return a picture."""
        del limit
        self._call("download")
        return self.pictures[handle]

    def is_delivered_when_stored(self, chat_id: str) -> bool:
        """Return false: a reply must be sent."""
        del chat_id
        return False

    def wake_waiting_clients(self, chat_id: str) -> None:
        """Do nothing: replies are sent."""

    async def show_typing(self, chat_id: str, thread_id: str | None) -> None:
        """Show nothing, and refuse as often as there are numbers in ``refusals``."""
        del thread_id
        if self.refusals:
            self.calls.append("typing")
            refusal = self.refusals.popleft()
            if chat_id in self.held:
                await self.held[chat_id].wait()
            raise SendError("too many requests", SendOutcome.NOT_SENT, refusal)

    def _show(self, part: OutboundPart) -> str:
        self.sent.append(part)
        message_id = str(len(self.sent))
        self.texts[message_id] = part.text
        return message_id

    def _call(self, name: str) -> None:
        self.calls.append(name)
        outcome = self.outcomes.popleft() if self.outcomes else None
        if isinstance(outcome, float):
            raise SendError(f"{name}: too many requests", SendOutcome.NOT_SENT, outcome)
        if outcome is not None:
            raise SendError(f"{name} failed", outcome, 0.001 if name == "download" else None)


async def silent(row: OutboxRow) -> None:
    """Speak nothing: no agent of these tests does."""
    raise AssertionError(f"{row} is not to be spoken")
