"""A stranger's channel keeps the promises of all channels, by the published tests."""

import base64
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib import resources

import orchestrator_pigeon
import pytest
from fakes.loft import TOKEN, Loft, encode, open_loft
from fakes.own_task import in_own_task
from orchestrator_pigeon.pigeon_channel import connect

from orchestrator.agentsfile.channel_kinds import ChannelKind
from orchestrator.extensions.channel_folders.hosted_channel import HostedChannel
from orchestrator.testing.channel_contract import ChannelContract
from orchestrator.testing.hosted_adapter import build_agents, hosted_channel


class PigeonWorld:
    """Ann's chat with the bot."""

    lacks = frozenset({"edits", "threads", "groups", "bots", "flood"})
    private, group = "ann", "ann"

    def __init__(self, loft: Loft) -> None:
        self._loft = loft

    @asynccontextmanager
    async def open_adapter(self) -> AsyncIterator[HostedChannel]:
        """A new adapter, as after a start of the daemon."""
        manifest = resources.files(orchestrator_pigeon) / "channel.json"
        kind = ChannelKind.model_validate_json(manifest.read_bytes())
        agents = build_agents("pigeon", {"server": self._loft.address})
        secrets = {"PIGEON_TOKEN": TOKEN}
        async with hosted_channel(kind, "pigeon", lambda: agents, secrets, connect) as (channel, _):
            yield channel

    async def say(
        self, chat: str, text: str, *, mention: bool = False, answers: str = "", thread: str = ""
    ) -> str:
        """Let a person write; return the message's id."""
        del mention, answers, thread
        return str(self._loft.post(chat, chat, text)["id"])

    async def change(self, chat: str, message_id: str, text: str) -> None:
        """Letters of people are never rewritten."""
        raise NotImplementedError

    async def say_as_bot(self, chat: str, text: str) -> None:
        """There is one bot."""
        raise NotImplementedError

    async def hand_in_file(self, chat: str, name: str, data: bytes) -> None:
        """Let the person send a file."""
        self._loft.post(chat, chat, "", name=name, file=encode(data))

    async def list_shown_texts(self, chat: str) -> list[str]:
        """The texts of the bot that stand in a chat, in order; a file by its name."""
        return self._loft.shown(chat)

    async def load_shown_file(self, chat: str) -> bytes:
        """The bytes of the last file of the bot in a chat."""
        del chat
        files = [one["file"] for one in self._loft.letters if one["from"] == "bot" and one["file"]]
        return base64.b64decode(files[-1])

    @asynccontextmanager
    async def lose_answers(self) -> AsyncIterator[None]:
        """Let letters arrive for a while without the bot learning of it."""
        self._loft.losing = True
        yield
        self._loft.losing = False

    async def say_nonsense(self, chat: str) -> None:
        """A letter whose text is none."""
        self._loft.post(chat, chat, "x")["text"] = None

    def cut_off(self) -> AbstractAsyncContextManager[None]:
        """Close the loft for a while."""
        return self._loft.cut_off()

    @asynccontextmanager
    async def flood(self) -> AsyncIterator[None]:
        """A loft takes any number of letters."""
        raise NotImplementedError
        yield

    async def leave(self) -> str:
        """Return a chat that the bot cannot write to any more."""
        self._loft.people.discard("bob")
        return "bob"


@pytest.fixture
async def world() -> AsyncIterator[PigeonWorld]:
    """Ann, Bob and the bot."""
    async with in_own_task(open_loft()) as loft:
        yield PigeonWorld(loft)


class TestPigeonContract(ChannelContract):
    """The promises."""
