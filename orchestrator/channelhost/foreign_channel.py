"""The interfaces between a chat system and its channel host."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeAlias, TypeVarTuple

import structlog

from orchestrator.channelhost.channel_wire import MessageName, OutgoingMessage, ReceivedMessage

Ts = TypeVarTuple("Ts")
log = structlog.get_logger()


class ChannelInbox(Protocol):
    """Where received messages go."""

    async def load_cursor(self) -> str:
        """Return the cursor last given to `store_messages`; empty before the first message."""

    async def store_cursor(self, cursor: str) -> None:
        """Store the cursor without a message: earlier messages are not answered."""

    async def store_messages(self, messages: Sequence[ReceivedMessage], cursor: str) -> None:
        """Store messages, or none, together with the cursor.

        Returns after the commit: only then may they be acknowledged. A message that comes again is
        known by its chat, id and edit date, and ignored.
        """

    def report_receiving(self) -> None:
        """Report that the connection works and messages are received."""


class ForeignChannel(Protocol):
    """One account at a chat system.

    Every method but `run` raises `orchestrator.channel_api.SendError` with the outcome for its
    message. After any other exception the outcome is unknown.
    """

    async def run(self, inbox: ChannelInbox) -> None:
        """Receive until cancelled; end or raise when the connection is lost, to be called again.

        The message of a `SendError` says what is wrong; its ``retry_after`` says when to retry.
        """

    async def send(self, message: OutgoingMessage) -> str:
        """Send a message and return its id; one whose key was used before is not sent again."""

    async def edit(self, message: OutgoingMessage) -> None:
        """Change the message with its ``message_id``."""

    async def remove(self, message: MessageName) -> None:
        """Remove a sent message."""

    async def show_typing(self, chat: MessageName) -> None:
        """Show for about five seconds that an answer is being written."""

    async def download(self, handle: str, limit: int) -> bytes:
        """Return a received file of at most ``limit`` bytes."""

    async def close(self) -> None:
        """Close all connections."""


# Makes the channel from its options in agents.json and its secrets, both keyed by name.
Connect: TypeAlias = Callable[[Mapping[str, str], Mapping[str, str]], ForeignChannel]


def try_read_message(
    read: Callable[[*Ts], ReceivedMessage | None], *foreign: *Ts
) -> ReceivedMessage | None:
    """Return the message that ``read`` makes of foreign data; None if parsing fails.

    Anyone may send anything. A message that cannot be parsed would otherwise be received again and
    again, and block all later ones.
    """
    try:
        return read(*foreign)
    except Exception:
        log.exception("message_unreadable")
        return None
