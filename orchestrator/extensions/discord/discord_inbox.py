"""Store events of the gateway in order, missed messages first.

The gateway asks for no acknowledgement, and forgets. So after each login the histories of all
chats are read from the cursor on. Until a server's history is read, its events are ignored: the
history has them.
"""

from collections.abc import Collection, Sequence
from functools import partial

import anyio
import discord
from discord.abc import Messageable

from orchestrator.channel_api import SendError, SendOutcome
from orchestrator.channelhost.channel_wire import ReceivedMessage
from orchestrator.channelhost.foreign_channel import ChannelInbox, try_read_message
from orchestrator.extensions.discord.discord_backlog import (
    Backlog,
    list_readable_chats,
    take_oldest,
)
from orchestrator.extensions.discord.discord_client import (
    DiscordClient,
    GatewayEvent,
    HistoryRead,
    MessagesDeleted,
    MessageWritten,
    ServerLost,
    ServerReached,
    SessionBegan,
)
from orchestrator.extensions.discord.discord_events import convert_discord_message, is_private
from orchestrator.extensions.discord.discord_progress import PRIVATE, DiscordProgress, build_id_at

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
        self._since = (
            progress.history_start
        )  # the start of what an unknown private chat may have missed
        self._written = ""

    def put(self, event: GatewayEvent) -> None:
        """Queue an event; on overflow the rest is read from the history after a new login."""
        try:
            self._line.send_nowait(event)
        except anyio.WouldBlock:
            self._line.close()
        except anyio.ClosedResourceError:
            pass

    async def run(self) -> None:
        """Store queued events.

        Raises:
            SendError: events arrive faster than they can be stored.
        """
        with self._line, self._events:
            async for event in self._events:
                await self._process_event(event)
            raise SendError(OVERRUN, SendOutcome.NOT_SENT)

    async def _process_event(self, event: GatewayEvent) -> None:
        match event:
            case SessionBegan():
                await self._begin_session()
            case ServerReached(server):
                await self._catch_up_server(server)
            case ServerLost(server):
                self._progress.mark_server_lost(server.id)
            case MessageWritten(message, edited):
                await self._accept_message(message, edited=edited)
            case MessagesDeleted():
                await self._withdraw_messages(event)
            case HistoryRead(message):
                self._progress.record_stored(message)
                await self._save_progress()

    async def _begin_session(self) -> None:
        self._progress.begin_session([server.id for server in self._client.guilds])
        await self._save_progress()
        known = list(self._progress.private)
        chats = [self._open_private_chat(chat) for chat in known]
        await self._catch_up_chats(PRIVATE, chats, self._progress.behind[PRIVATE])
        self._inbox.report_receiving()

    def _open_private_chat(self, chat: int) -> Messageable:
        return self._client.get_partial_messageable(chat, type=discord.ChannelType.private)

    async def _catch_up_server(self, server: discord.Guild) -> None:
        """Read a server's histories, from the bot's invitation on."""
        after = self._progress.behind.get(server.id)
        if after is None:
            return
        joined = server.me.joined_at
        if joined is not None:
            after = max(after, build_id_at(joined.timestamp() * 1000))
        await self._catch_up_chats(server.id, list_readable_chats(server, after), after)

    async def _catch_up_chats(self, place: int, chats: Sequence[Messageable], after: int) -> None:
        backlogs = [Backlog(chat, after) for chat in chats]
        while messages := await take_oldest(backlogs):
            after = messages[-1].id
            self._progress.behind[place] = after
            await self._store_messages(messages)
        del self._progress.behind[place]
        # Messages that came here meanwhile are queued; once they are stored, so is all up to here.
        self.put(HistoryRead(after))

    async def _accept_message(self, message: discord.Message, *, edited: bool) -> None:
        place = message.guild.id if message.guild else PRIVATE
        if place in self._progress.behind:
            return
        if (
            is_private(message)
            and not edited
            and not self._progress.keep_private_chat(message.channel.id)
        ):
            await self._read_new_private_chat(message.channel.id)
        if not edited:
            self._progress.record_stored(message.id)
        await self._store_messages([message], edited=edited)

    async def _withdraw_messages(self, event: MessagesDeleted) -> None:
        """Tell that messages were deleted, unless a history that lacks them is still to be read."""
        if (event.server or PRIVATE) in self._progress.behind:
            return
        place = self._client.get_channel(event.channel)
        chat = place.parent_id if isinstance(place, discord.Thread) else event.channel
        gone = (
            ReceivedMessage(chat_id=str(chat), message_id=str(one), sender_id="", kind="removal")
            for one in event.messages
        )
        await self._inbox.store_messages(list(gone), self._progress.model_dump_json())

    async def _read_new_private_chat(self, chat: int) -> None:
        """Read the messages that a new private chat missed while nothing was received."""
        backlogs = [Backlog(self._open_private_chat(chat), self._since)]
        while messages := await take_oldest(backlogs):
            await self._store_messages(messages)

    async def _store_messages(
        self, messages: Sequence[discord.Message], *, edited: bool = False
    ) -> None:
        bot = self._client.user.id if self._client.user else 0
        read = partial(convert_discord_message, edited=edited)
        found = (try_read_message(read, message, bot, self._sent) for message in messages)
        if said := [message for message in found if message is not None]:
            text = self._progress.model_dump_json()
            await self._inbox.store_messages(said, text)
            self._written = text

    async def _save_progress(self) -> None:
        """Store the progress where no message carries it."""
        text = self._progress.model_dump_json()
        if text != self._written:
            await self._inbox.store_cursor(text)
            self._written = text
