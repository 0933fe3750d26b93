"""What a chat system of the channel host provides, and what the host provides to it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeAlias, TypeVarTuple

import structlog

from orchestrator.channelhost.channel_wire import MessageName, OutgoingMessage, ReceivedMessage

Ts = TypeVarTuple("Ts")
log = structlog.get_logger()


class ChannelInbox(Protocol):
    """Where received messages go."""

    async def cursor(self) -> str:
        """Return where to go on, as given to `accept`; empty before the first message."""

    async def begin(self, cursor: str) -> None:
        """Store where to go on, without a message: what was said before is not answered."""

    async def accept(self, messages: Sequence[ReceivedMessage], cursor: str) -> None:
        """Store messages and where to go on, together.

        Returns after the commit: only then may they be acknowledged. A message that comes again is
        known by its chat, id and edit date, and ignored.
        """

    def receiving(self) -> None:
        """Say that messages are received: the connection works."""


class ForeignChannel(Protocol):
    """One account at a chat system.

    Every method but `run` raises `orchestrator.channel_api.SendError` with what is known about its
    message. Any other exception means that this is unknown.
    """

    async def run(self, inbox: ChannelInbox) -> None:
        """Receive until canceled; end or raise when the connection is lost, to be called again.

        A `SendError` says in its message what is wrong, and when to try again.
        """

    async def send(self, message: OutgoingMessage) -> str:
        """Send a message and return its id. One with the key of another is not sent twice."""

    async def edit(self, message: OutgoingMessage) -> None:
        """Change the message with its ``message_id``."""

    async def remove(self, message: MessageName) -> None:
        """Remove a message that was sent."""

    async def typing(self, chat: MessageName) -> None:
        """Show for about five seconds that an answer is being written."""

    async def download(self, handle: str, limit: int) -> bytes:
        """Return a received file of at most ``limit`` bytes."""

    async def close(self) -> None:
        """Close what is open."""


# Makes the channel from its options in agents.json and its secrets, both by name.
Connect: TypeAlias = Callable[[Mapping[str, str], Mapping[str, str]], ForeignChannel]


def readable(
    read: Callable[[*Ts], ReceivedMessage | None], *foreign: *Ts
) -> ReceivedMessage | None:
    """Return the message that ``read`` makes of something foreign; None if that breaks it.

    Anyone may send anything. What cannot be read would come again and again, and those that follow
    would wait behind it for ever.
    """
    try:
        return read(*foreign)
    except Exception:
        log.exception("message_unreadable")
        return None
