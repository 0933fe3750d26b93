"""Read the messages that were missed: the histories of chats, merged by time."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import discord
from discord.abc import Messageable

ServerChat: TypeAlias = (
    discord.TextChannel | discord.VoiceChannel | discord.StageChannel | discord.Thread
)
PAGE = 100  # messages of one request, Discord's limit


@dataclass
class Backlog:
    """The messages of a chat after an id, read page by page."""

    chat: Messageable
    after: int
    _page: deque[discord.Message] = field(default_factory=deque)
    _more: bool = True

    async def fetch_first(self) -> discord.Message | None:
        """Return the oldest remaining message; None at the end, and for a closed chat."""
        if not self._page and self._more:
            after = discord.Object(self.after)
            try:
                history = self.chat.history(limit=PAGE, after=after, oldest_first=True)
                self._page.extend([message async for message in history])
            except (discord.Forbidden, discord.NotFound):
                self._page.clear()
            self._more = len(self._page) == PAGE
        return self._page[0] if self._page else None

    def take_first(self) -> discord.Message:
        """Take the message that `fetch_first` returned."""
        message = self._page.popleft()
        self.after = message.id
        return message


async def take_oldest(backlogs: Sequence[Backlog]) -> list[discord.Message]:
    """Take the oldest messages of all chats, in order; return none at the end."""
    messages: list[discord.Message] = []
    while len(messages) < PAGE:
        waiting = [
            (message.id, number)
            for number, backlog in enumerate(backlogs)
            if (message := await backlog.fetch_first()) is not None
        ]
        if not waiting:
            break
        messages.append(backlogs[min(waiting)[1]].take_first())
    return messages


def list_readable_chats(server: discord.Guild, after: int) -> list[Messageable]:
    """Return the chats of a server that have messages the bot may read."""
    channels: list[ServerChat] = [*server.text_channels, *server.voice_channels]
    channels += [*server.stage_channels, *server.threads]
    return [
        channel
        for channel in channels
        if (channel.last_message_id or 0) > after and _is_readable(channel, server)
    ]


def _is_readable(channel: ServerChat, server: discord.Guild) -> bool:
    if isinstance(channel, discord.Thread) and channel.parent is None:
        return False
    allowed = channel.permissions_for(server.me)
    return allowed.view_channel and allowed.read_message_history
