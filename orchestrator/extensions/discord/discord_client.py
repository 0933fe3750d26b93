"""The discord.py client, which passes on events in order."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import aiohttp
import discord

from thinker.http.tls import tls_context

MAX_RATE_LIMIT_SECONDS = 6.0  # that one request waits; a bucket of messages has 5
LOGINS = 20.0  # new sessions in a row
LOGIN_SECONDS = 100.0  # for each further one; together 884 a day
INTENTS = discord.Intents(guilds=True, guild_messages=True, dm_messages=True, message_content=True)


@dataclass(frozen=True)
class SessionBegan:
    """A session began; earlier messages may have been missed."""


@dataclass(frozen=True)
class ServerReached:
    """A server and its channels are now known."""

    server: discord.Guild


@dataclass(frozen=True)
class ServerLost:
    """A server is out of reach."""

    server: discord.Guild


@dataclass(frozen=True)
class MessageWritten:
    """A message was written or edited."""

    message: discord.Message
    edited: bool = False


@dataclass(frozen=True)
class MessagesDeleted:
    """Messages of a channel or thread were deleted; ``server`` is None in a private chat."""

    server: int | None
    channel: int
    messages: tuple[int, ...]


@dataclass(frozen=True)
class HistoryRead:
    """A history has been read up to this message."""

    message: int


GatewayEvent: TypeAlias = (
    SessionBegan | ServerReached | ServerLost | MessageWritten | MessagesDeleted | HistoryRead
)


class LoginBudget:
    """How often a new session of the gateway may be requested.

    Discord resets the token of a bot that does so 1000 times a day.
    """

    def __init__(self) -> None:
        self._left = LOGINS
        self._counted_at = 0.0

    def take_login(self, now: float) -> float:
        """Count a login, and return the seconds to wait for it."""
        earned = (now - self._counted_at) / LOGIN_SECONDS
        self._left = min(LOGINS, self._left + earned) - 1
        self._counted_at = now
        return max(0.0, -self._left * LOGIN_SECONDS)


class DiscordClient(discord.Client):
    """One login, which must be made in a running loop; events go to ``put``."""

    def __init__(self) -> None:
        super().__init__(
            intents=INTENTS,
            max_messages=None,
            member_cache_flags=discord.MemberCacheFlags.none(),
            guild_ready_timeout=0,  # servers are read one by one as they are reached
            connector=aiohttp.TCPConnector(ssl=tls_context(), limit=0),
        )
        # The constructor takes 30 s at least: with its repetitions a call would be given up first,
        # and its outcome unknown. A longer wait is told, so that the supervisor waits.
        self.http.max_ratelimit_timeout = MAX_RATE_LIMIT_SECONDS
        self.put: Callable[[GatewayEvent], None] = lambda _: None

    # --- called by the library, in the order of the gateway --------------------------------------

    async def on_connect(self) -> None:
        self.put(SessionBegan())

    async def on_ready(self) -> None:
        for server in self.guilds:
            if not server.unavailable:
                self.put(ServerReached(server))

    async def on_guild_available(self, guild: discord.Guild) -> None:
        self.put(ServerReached(guild))

    async def on_guild_unavailable(self, guild: discord.Guild) -> None:
        self.put(ServerLost(guild))

    async def on_message(self, message: discord.Message) -> None:
        self.put(MessageWritten(message))

    async def on_raw_message_edit(self, payload: discord.RawMessageUpdateEvent) -> None:
        if payload.message.edited_at is not None:  # otherwise a preview of a link was added
            self.put(MessageWritten(payload.message, edited=True))

    async def on_raw_message_delete(self, payload: discord.RawMessageDeleteEvent) -> None:
        self.put(MessagesDeleted(payload.guild_id, payload.channel_id, (payload.message_id,)))

    async def on_raw_bulk_message_delete(self, payload: discord.RawBulkMessageDeleteEvent) -> None:
        ids = tuple(sorted(payload.message_ids))
        self.put(MessagesDeleted(payload.guild_id, payload.channel_id, ids))
