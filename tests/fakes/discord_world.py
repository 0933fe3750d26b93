"""Ann, a robot and the bot, who talk over the fake of Discord."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import discord
import pytest
import yarl
from discord.gateway import DiscordWebSocket
from discord.http import Route
from fakes.discord_server import ANN, BOT, DM, ROBOT, TEXT, THREAD, TOKEN, DiscordServer
from fakes.fault_proxy import LOST_ANSWER, FaultProxy
from fakes.partial_world import PartialWorld

from orchestrator.channel_api import Adapter
from orchestrator.extensions.channel_folders.testing.memory_host import hosted_adapter
from orchestrator.extensions.discord.discord_channel import connect
from orchestrator.testing.loopback import find_free_port


async def _at_once(*_: object, **__: object) -> None:
    """Identify again without the five seconds that Discord wants between two logins."""


@contextmanager
def instead_of_discord(api: str, gateway: str) -> Iterator[None]:
    """Let the library talk to these addresses."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Route, "BASE", f"{api}/api/v10")
        address = yarl.URL(gateway.replace("http", "ws") + "/gateway")
        patch.setattr(DiscordWebSocket, "DEFAULT_GATEWAY", address)
        patch.setattr(discord.Client, "before_identify_hook", _at_once)
        yield


@dataclass
class DiscordWorld(PartialWorld):
    """A `ChannelWorld`: Ann's private chat, and a channel with all three."""

    server: DiscordServer
    proxy: FaultProxy
    private: str
    group: str
    token: str = TOKEN
    lacks: frozenset[str] = frozenset({"connections", "nonsense"})

    @asynccontextmanager
    async def open_adapter(self) -> AsyncIterator[Adapter]:
        secrets = {"DISCORD_BOT_TOKEN": self.token}
        async with hosted_adapter("discord", {}, secrets, connect) as adapter:
            yield adapter

    async def say(
        self, chat: str, text: str, *, mention: bool = False, answers: str = "", thread: str = ""
    ) -> str:
        if thread and thread not in self.server.channels:
            aside = self.server.open(THREAD, chat, thread)
            await self.server.tell("THREAD_CREATE", aside.shape())
        text = f"<@{BOT['id']}> {text}" if mention else text
        more = self.server.reply_to(chat, answers) if answers else {}
        return str((await self.server.write(thread or chat, ANN, text, **more))["id"])

    async def change(self, chat: str, message_id: str, text: str) -> None:
        await self.server.edit(chat, message_id, text)

    async def say_as_bot(self, chat: str, text: str) -> None:
        await self.server.write(chat, ROBOT, text)

    async def hand_in_file(self, chat: str, name: str, data: bytes) -> None:
        await self.server.write(chat, ANN, "", attachments=[self.server.attach(name, data)])

    def own(self, chat: str) -> list[dict[str, Any]]:
        """The messages of the bot in a chat."""
        channel = chat.rpartition("/")[2]
        return [m for m in self.server.channels[channel].messages if m["author"] == BOT]

    async def list_shown_texts(self, chat: str) -> list[str]:
        return [m["content"].replace("**", "") for m in self.own(chat)]

    async def load_shown_file(self, chat: str) -> bytes:
        attached = [file for m in self.own(chat) for file in m["attachments"]]
        return self.server.files[attached[-1]["id"]]

    @asynccontextmanager
    async def lose_answers(self) -> AsyncIterator[None]:
        self.proxy.spoil("POST ", "/messages", fault=LOST_ANSWER)
        yield
        self.proxy.heal()

    @asynccontextmanager
    async def flood(self) -> AsyncIterator[None]:
        self.server.flood = [40.0]
        yield
        self.server.flood = []

    def be_gone(self) -> None:
        """Let the API be out of reach."""
        port = find_free_port()
        Route.BASE = f"http://127.0.0.1:{port}/api/v10"  # restored with the world

    async def leave(self) -> str:
        return self.server.new_id()


@asynccontextmanager
async def discord_world(server: DiscordServer) -> AsyncIterator[DiscordWorld]:
    """Let everybody meet, and the library talk to the fake."""
    async with FaultProxy(server.url) as proxy:
        with instead_of_discord(proxy.url, server.url):
            private, group = server.open(DM), server.open(TEXT)
            yield DiscordWorld(server, proxy, private.id, group.id)
