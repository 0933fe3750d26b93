"""Store what the gateway tells: first what was missed, then what is said, each message in order.

The gateway wants no acknowledgement, and forgets. So after each login the histories of all chats
are read from where the cursor is. Until that of a server is read, what the gateway tells of it is
left out: its history has it.
"""

from collections.abc import Collection, Sequence
from functools import partial

import anyio
import discord
from discord.abc import Messageable

from orchestrator.channel_api import SendError, SendOutcome
from orchestrator.channelhost.discord.discord_backlog import Backlog, chats_of, oldest
from orchestrator.channelhost.discord.discord_client import (
    DiscordClient,
    GatewayEvent,
    HistoryRead,
    MessageSaid,
    ServerLost,
    ServerReached,
    SessionBegan,
)
from orchestrator.channelhost.discord.discord_events import is_private, received
from orchestrator.channelhost.discord.discord_progress import PRIVATE, DiscordProgress, id_at
from orchestrator.channelhost.foreign_channel import ChannelInbox, readable

MAX_WAITING = 1000  # events that wait to be stored
OVERRUN = "messages come faster than they can be stored; the rest is read from the history"


class DiscordInbox:
    """Takes the events of one client. ``sent`` are the ids of the bot's last messages."""

    def __init__(
        self,
        client: DiscordClient,
        inbox: ChannelInbox,
        progress: DiscordProgress,
        sent: Collection[str],
    ) -> None:
        self._line, self._events = anyio.create_memory_object_stream[GatewayEvent](MAX_WAITING)
        self._client = client
        self._inbox = inbox
        self._progress = progress
        self._sent = sent
        self._since = progress.start  # what a private chat that was not known may have missed
        self._written = ""

    def put(self, event: GatewayEvent) -> None:
        """Put an event in line; what does not fit is read from the history after another login."""
        try:
            self._line.send_nowait(event)
        except anyio.WouldBlock:
            self._line.close()
        except anyio.ClosedResourceError:
            pass

    async def run(self) -> None:
        """Store what comes.

        Raises:
            SendError: it comes faster than it can be stored.
        """
        with self._line, self._events:
            async for event in self._events:
                await self._take(event)
            raise SendError(OVERRUN, SendOutcome.NOT_SENT)

    async def _take(self, event: GatewayEvent) -> None:
        match event:
            case SessionBegan():
                await self._begin()
            case ServerReached(server):
                await self._reach(server)
            case ServerLost(server):
                self._progress.lose(server.id)
            case MessageSaid(message, edited):
                await self._hear(message, edited=edited)
            case HistoryRead(message):
                self._progress.stored(message)
                await self._save()

    async def _begin(self) -> None:
        self._progress.begin([server.id for server in self._client.guilds])
        await self._save()
        known = list(self._progress.private)
        chats = [self._private(chat) for chat in known]
        await self._catch_up(PRIVATE, chats, self._progress.behind[PRIVATE])
        self._inbox.receiving()

    def _private(self, chat: int) -> Messageable:
        return self._client.get_partial_messageable(chat, type=discord.ChannelType.private)

    async def _reach(self, server: discord.Guild) -> None:
        """Read a server's histories, but nothing from before the bot was invited."""
        after = self._progress.behind.get(server.id)
        if after is None:
            return
        joined = server.me.joined_at
        if joined is not None:
            after = max(after, id_at(joined.timestamp() * 1000))
        await self._catch_up(server.id, chats_of(server, after), after)

    async def _catch_up(self, place: int, chats: Sequence[Messageable], after: int) -> None:
        backlogs = [Backlog(chat, after) for chat in chats]
        while messages := await oldest(backlogs):
            after = messages[-1].id
            self._progress.behind[place] = after
            await self._accept(messages)
        del self._progress.behind[place]
        # What this place said meanwhile waits in line. Behind it, all up to here is stored.
        self.put(HistoryRead(after))

    async def _hear(self, message: discord.Message, *, edited: bool) -> None:
        place = message.guild.id if message.guild else PRIVATE
        if place in self._progress.behind:
            return
        if is_private(message) and not edited and not self._progress.meet(message.channel.id):
            await self._meet(message.channel.id)
        if not edited:
            self._progress.stored(message.id)
        await self._accept([message], edited=edited)

    async def _meet(self, chat: int) -> None:
        """Read what a person wrote first while nothing was received."""
        backlogs = [Backlog(self._private(chat), self._since)]
        while messages := await oldest(backlogs):
            await self._accept(messages)

    async def _accept(self, messages: Sequence[discord.Message], *, edited: bool = False) -> None:
        bot = self._client.user.id if self._client.user else 0
        read = partial(received, edited=edited)
        found = (readable(read, message, bot, self._sent) for message in messages)
        if said := [message for message in found if message is not None]:
            text = self._progress.model_dump_json()
            await self._inbox.accept(said, text)
            self._written = text

    async def _save(self) -> None:
        """Store the progress where no message does it."""
        text = self._progress.model_dump_json()
        if text != self._written:
            await self._inbox.begin(text)
            self._written = text
