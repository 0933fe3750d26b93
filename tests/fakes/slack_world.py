"""A `ChannelWorld` in Slack: Ann and the bot alone, and with Bob in a channel."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from fakes.partial_world import PartialWorld
from fakes.slack_server import APP_TOKEN, BOT, BOT_TOKEN, Fault, SlackServer, as_seen

from orchestrator.extensions.channel_folders.hosted_channel import HostedChannel
from orchestrator.extensions.channel_folders.testing.memory_host import hosted_adapter
from orchestrator.extensions.slack.slack_channel import connect

TOKENS = {"SLACK_BOT_TOKEN": BOT_TOKEN, "SLACK_APP_TOKEN": APP_TOKEN}


@dataclass
class SlackWorld(PartialWorld):
    """A workspace."""

    server: SlackServer
    private: str = "D00000001"
    group: str = "C00000001"
    lacks: frozenset[str] = frozenset({"connections"})

    @asynccontextmanager
    async def open_adapter(self) -> AsyncIterator[HostedChannel]:
        options = {"api": f"{self.server.url}/api/"}
        async with hosted_adapter("slack", options, TOKENS, connect) as adapter:
            yield adapter

    async def say(
        self, chat: str, text: str, *, mention: bool = False, answers: str = "", thread: str = ""
    ) -> str:
        text = f"<@{BOT}> {text}" if mention else text
        return await self.server.write(chat, text, thread_ts=answers or thread or None)

    async def change(self, chat: str, message_id: str, text: str) -> None:
        await self.server.change(chat, message_id, text)

    async def say_as_bot(self, chat: str, text: str) -> None:
        other = {"subtype": "bot_message", "bot_id": "BOTHER001", "username": "alerts"}
        await self.server.write(chat, text, user="", **other)

    async def say_nonsense(self, chat: str) -> None:
        await self.server.write(chat, "x", user=["nobody"])

    async def hand_in_file(self, chat: str, name: str, data: bytes) -> None:
        file = self.server.keep(name, data, "text/plain")
        await self.server.write(chat, "", subtype="file_share", files=[file])

    async def list_shown_texts(self, chat: str) -> list[str]:
        name, _, thread = chat.partition("/")
        return [
            message["files"][0]["name"] if "files" in message else as_seen(message["text"])
            for message in self.server.chats[name].messages
            if message["user"] == BOT and thread in ("", message.get("thread_ts"))
        ]

    async def load_shown_file(self, chat: str) -> bytes:
        files = [m["files"][0] for m in self.server.chats[chat].messages if "files" in m]
        return bytes(self.server.files[files[-1]["id"]]["data"])

    @asynccontextmanager
    async def lose_answers(self) -> AsyncIterator[None]:
        self.server.refuse("chat.postMessage", Fault(lost=True), times=3)
        yield
        self.server.heal()

    @asynccontextmanager
    async def flood(self) -> AsyncIterator[None]:
        self.server.refuse("chat.postMessage", Fault(code="ratelimited", status=429), times=30)
        yield
        self.server.heal()

    async def leave(self) -> str:
        chat = self.server.open("C0GONE001", "channel")
        chat.members.remove(BOT)
        return chat.id


@asynccontextmanager
async def slack_world() -> AsyncIterator[SlackWorld]:
    """Make a workspace for one test."""
    async with SlackServer().running() as server:
        world = SlackWorld(server)
        server.open(world.private, "im", "UANN00001")
        server.open(world.group, "channel", "UANN00001", "UBOB00001")
        yield world
