"""The bots of a daemon: one for each account with a token, as agents.json and keys say now."""

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import anyio
import pytest
from fakes.bot_api import FakeBotApi
from fakes.time_limit import time_limit
from fakes.two_bots import TwoBots

from orchestrator.agentsfile import AgentsFile, parse_agents_file
from orchestrator.channel_api import Adapter, InboundMessage, OutboundPart, SendError
from orchestrator.errors import ConfigError
from orchestrator.extensions.telegram.adapter import Telegram
from orchestrator.extensions.telegram.telegram_part import TelegramPart
from orchestrator.inbound.commands import build_menus

FIRST, SECOND = "123456:first", "654321:second"
KEYS = {"TELEGRAM_BOT_TOKEN": FIRST, "TELEGRAM_BOT_TOKEN_WORK": SECOND}


def file_with(*accounts: str, **fields: Any) -> AgentsFile:
    """An agents.json with these accounts of Telegram."""
    document = {
        "agents": [{"agentId": "a", "llmProvider": "demo"}],
        "channels": {"telegram": {**fields, "accounts": {name: {} for name in accounts}}},
    }
    return parse_agents_file(json.dumps(document).encode()).file


@dataclass
class Intake:
    """Stores in memory, each channel for itself."""

    stored: list[InboundMessage] = field(default_factory=list)
    offsets: dict[tuple[str, str], int] = field(default_factory=dict)

    async def load_offset(self, channel: str, bot_id: str) -> int:
        """The stored offset of a bot."""
        return self.offsets.get((channel, bot_id), 0)

    async def list_chat_moves(self, channel: str) -> dict[str, str]:
        """No group has moved."""
        del channel
        return {}

    async def accept(self, messages: list[InboundMessage], offset: int) -> dict[str, str]:
        """Store messages, all of one bot."""
        self.stored += messages
        self.offsets[messages[0].channel, messages[0].bot_id] = offset
        return {}


@dataclass
class Daemon:
    """What a part sees of its daemon; ``file`` and ``environ`` may change."""

    file: AgentsFile
    environ: dict[str, str]
    url: str
    stack: AsyncExitStack
    tasks: Any
    intake: Intake = field(default_factory=Intake)
    adapters: dict[str, Adapter] = field(default_factory=dict)

    @property
    def settings(self) -> Any:
        """Where the Bot API is."""
        return SimpleNamespace(telegram_api_url=self.url)

    @property
    def machine(self) -> Any:
        """A machine with a clock."""
        return SimpleNamespace(
            bot_network=None,
            read_seconds=lambda: 0.0,
            monotonic=lambda: 0.0,
            draw_fraction=lambda: 0.0,
            clock=lambda: 0,
        )

    store: Any = None

    def get_agents_file(self) -> AgentsFile:
        """The current file."""
        return self.file

    def add_adapter(self, adapter: Adapter) -> None:
        """Start a channel."""
        self.adapters[adapter.name] = adapter
        self.tasks.start_soon(adapter.run, self.intake)


@asynccontextmanager
async def running(
    file: AgentsFile, environ: dict[str, str]
) -> AsyncIterator[tuple[Daemon, TelegramPart, TwoBots]]:
    """A part whose channels receive from Telegram, which has two bots."""
    async with (
        TwoBots(FIRST, FakeBotApi(SECOND, "work_bot")) as bots,
        AsyncExitStack() as stack,
        anyio.create_task_group() as tasks,
    ):
        daemon = Daemon(file, dict(environ), bots.url, stack, tasks)
        part = TelegramPart(cast("Any", daemon))
        for adapter in await part.list_adapters():
            daemon.add_adapter(adapter)
        yield daemon, part, bots
        tasks.cancel_scope.cancel()


async def settled(*bots: FakeBotApi) -> None:
    """Wait until each bot has its menus: nothing is connecting any more."""
    for bot in bots:
        await bot.called("setMyCommands", len(build_menus()))


async def test_each_account_with_a_token_is_a_channel() -> None:
    """Each has its own bot, offset and chats, though the person is the same."""
    async with running(file_with("work", "later"), KEYS) as (daemon, _, bots):
        assert set(daemon.adapters) == {"telegram", "telegram@work"}
        bots.send_user_message(7, "to the first")
        bots.other.send_user_message(7, "to the second")
        await bots.confirmed()
        await bots.other.confirmed()
        found = {(m.channel, m.bot_id, m.chat_id, m.text) for m in daemon.intake.stored}
        assert found == {
            ("telegram", "123456", "7", "to the first"),
            ("telegram@work", "654321", "7", "to the second"),
        }
        await daemon.adapters["telegram@work"].send(OutboundPart("7", "answer"))
        assert (bots.list_texts(7), bots.other.list_texts(7)) == ([], ["answer"])
        await settled(bots, bots.other)


async def test_account_and_token_come_and_go_without_a_restart() -> None:
    """What is off neither reads nor writes; messages wait at Telegram meanwhile."""
    async with running(file_with(), {"TELEGRAM_BOT_TOKEN": FIRST}) as (daemon, part, bots):
        before, daemon.file = daemon.file, file_with("work")
        part.adopt_configuration(before, daemon.file)
        assert set(daemon.adapters) == {"telegram"}
        daemon.environ.update(KEYS)
        part.adopt_configuration(daemon.file, daemon.file)
        work = daemon.adapters["telegram@work"]
        bots.other.send_user_message(7, "one")
        await bots.other.confirmed()
        await settled(bots, bots.other)
        daemon.file = file_with()
        part.adopt_configuration(daemon.file, daemon.file)
        with time_limit():
            while work.status.state != "off":
                await anyio.lowlevel.checkpoint()
        bots.other.send_user_message(7, "two")
        with pytest.raises(SendError, match="telegram@work is off"):
            await work.send(OutboundPart("7", "answer"))
        daemon.file = file_with("work")
        part.adopt_configuration(daemon.file, daemon.file)
        await bots.other.confirmed()
        assert [message.text for message in daemon.intake.stored] == ["one", "two"]
        await bots.other.called("getMyCommands", 2 * len(build_menus()))


async def test_bot_follows_its_token_and_its_server() -> None:
    """Another token is another bot, the same one at the same address is the same connection."""
    async with AsyncExitStack() as stack:
        daemon = Daemon(file_with(), dict(KEYS), "http://127.0.0.1:1", stack, None)
        (bot,) = await TelegramPart(cast("Any", daemon)).list_adapters()
        assert isinstance(bot, Telegram)
        first = bot.find_api()
        assert first is not None
        assert bot.find_api() is first
        daemon.environ["TELEGRAM_BOT_TOKEN"] = SECOND
        second = bot.find_api()
        assert second is not None
        assert (first.bot_id, second.bot_id) == ("123456", "654321")
        assert bot.find_api() is second
        daemon.environ["TELEGRAM_API_URL"] = "http://127.0.0.1:2"
        third = bot.find_api()
        assert third is not second
        del daemon.environ["TELEGRAM_BOT_TOKEN"]
        assert bot.find_api() is None


async def test_malformed_token_of_an_account_is_a_hint_and_ends_nothing() -> None:
    """Only that of the one bot that was there before ends the start."""
    wrong = {**KEYS, "TELEGRAM_BOT_TOKEN_WORK": "no token"}
    async with running(file_with("work"), wrong) as (daemon, part, bots):
        assert set(daemon.adapters) == {"telegram"}
        (hint,) = part.list_hints()
        assert hint.startswith("TELEGRAM_BOT_TOKEN_WORK is not a bot token")
        daemon.environ.update(KEYS)
        part.adopt_configuration(daemon.file, daemon.file)
        assert set(daemon.adapters) == {"telegram", "telegram@work"}
        assert part.list_hints() == ()
        await settled(bots, bots.other)
    with pytest.raises(ExceptionGroup) as raised:
        async with running(file_with(), {"TELEGRAM_BOT_TOKEN": "no token"}):
            pass
    assert raised.group_contains(ConfigError, match="TELEGRAM_BOT_TOKEN is not a bot token")
