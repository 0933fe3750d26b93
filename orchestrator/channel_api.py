"""What a channel adapter must be able to do, and what it is given.

Delivery sends through `Adapter`; an adapter hands what it hears to `Intake`. Both are small, so
that a new chat system is one file in `orchestrator/channels`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from orchestrator.errors import OrchestratorError


@dataclass(frozen=True)
class Attachment:
    """A picture that came with a message: what its channel fetches it by, and what is known of it.

    ``about`` is shown to a model that cannot see it: ``photo, 1280x960``.
    """

    handle: str
    about: str


@dataclass(frozen=True)
class InboundMessage:
    """One update of a chat system, in our words.

    ``update_id`` and ``message_id`` are the platform's; together with ``edit_date`` (seconds,
    0 for a first version) they make the update known again when it comes twice. ``skip`` is the
    reason why no agent should see it (``"no text"``, ``"not addressed"``); ``notice`` is what the
    chat is told in that case, if anything. ``target`` names an agent outright (the console does).
    """

    channel: str
    bot_id: str
    chat_id: str
    message_id: str
    sender_id: str
    text: str = ""
    update_id: int | None = None
    thread_id: str | None = None
    edit_date: int = 0
    kind: str = "message"
    private: bool = True
    sender_name: str = ""
    target: str | None = None
    skip: str | None = None
    notice: str | None = None
    attachments: tuple[Attachment, ...] = ()


@dataclass(frozen=True)
class OutboundPart:
    """One message to send; ``text`` is Markdown when ``markdown`` is true."""

    chat_id: str
    text: str
    thread_id: str | None = None
    markdown: bool = True
    reply_to: str | None = None


class SendOutcome(StrEnum):
    """What a failed platform call means for the message (reliability.md §4.5)."""

    NOT_SENT = "not_sent"  # it certainly did not arrive: try again
    UNKNOWN = "unknown"  # it may have arrived: repeated only where that does no harm
    PERMANENT = "permanent"  # it will never arrive: the chat is gone, the bot is blocked
    GONE = "gone"  # an edit whose message no longer exists: send a new one


class SendError(OrchestratorError):
    """A platform call failed; ``retry_after`` is what the platform asked for, in seconds."""

    def __init__(
        self, message: str, outcome: SendOutcome, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.outcome = outcome
        self.retry_after = retry_after


@dataclass
class ChannelStatus:
    """What `orchestrator status` shows of a channel; ``last_ok`` in seconds since the epoch."""

    name: str
    state: str = "starting"  # starting | ok | degraded | stopped
    detail: str = ""
    last_ok: float | None = None


class Intake(Protocol):
    """Where an adapter hands in what it heard."""

    async def offset(self, channel: str, bot_id: str) -> int:
        """The next update number to ask for; 0 when none was ever stored."""

    async def accept(self, messages: Sequence[InboundMessage], offset: int | None = None) -> None:
        """Store updates and the channel's next offset in one transaction (T1).

        Returns after the commit: only then may the adapter acknowledge.
        """


class Adapter(Protocol):
    """One chat system."""

    status: ChannelStatus

    @property
    def name(self) -> str:
        """The channel's name in bindings: ``telegram``, ``console``."""

    @property
    def bot_id(self) -> str:
        """Which account of ours it speaks for; scopes offsets and update numbers."""

    @property
    def edits(self) -> bool:
        """Whether sent messages can be changed, so that a reply can be streamed and repaired."""

    @property
    def from_journal(self) -> bool:
        """Whether people read their replies there, so that sending only tells them to look."""

    def delivered_when_stored(self, chat_id: str) -> bool:
        """Whether a reply to a chat has arrived once it is in the journal; any thread may ask."""

    async def run(self, intake: Intake) -> None:
        """Listen until cancelled; survives every failure of the platform."""

    def split(self, text: str) -> tuple[str, ...]:
        """Cut a reply into parts that the platform accepts, in order."""

    async def send(self, part: OutboundPart) -> str:
        """Send one part and return the platform's id of it.

        Raises:
            SendError: with what is known about the message.
        """

    async def edit(self, part: OutboundPart, message_id: str) -> None:
        """Change a sent message; "not modified" counts as success.

        Raises:
            SendError: with what is known about the message.
        """

    async def download(self, handle: str, limit: int) -> bytes:
        """What an attachment's handle stands for, at most ``limit`` bytes.

        Raises:
            SendError: it cannot be had, now (``NOT_SENT``) or at all (``PERMANENT``).
        """

    def view(self, chat_id: str, text: str) -> None:
        """Show an answer that is still being made, where that costs nothing; never the delivery."""

    def replied(self, chat_id: str) -> None:
        """A turn has ended in a chat: people who read their replies in the journal may look."""

    async def typing(self, chat_id: str, thread_id: str | None) -> None:
        """Show that an answer is being made, for about five seconds; failures are ignored."""
