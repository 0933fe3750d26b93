"""Telegram keeps the promises of a channel."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from fakes.bot_api import BLOCKED, LOST_ANSWER, FakeBotApi, too_many
from fakes.own_task import in_own_task
from fakes.partial_world import PartialWorld

from orchestrator.channel_api import Adapter
from orchestrator.extensions.channel_folders.testing.channel_tests import ChannelContract
from orchestrator.extensions.telegram.adapter import Telegram
from orchestrator.extensions.telegram.bot_api import BotApi

LACKS = frozenset({"threads", "connections", "nonsense"})
TOKEN = "123456:ABC-DEF"


@dataclass
class TelegramWorld(PartialWorld):
    """A `ChannelWorld` on the fake Bot API."""

    server: FakeBotApi
    private: str = "7"
    group: str = "-9"
    lacks: frozenset[str] = field(default_factory=lambda: LACKS)
    _gone: int = 70  # a chat that has blocked the bot

    @asynccontextmanager
    async def open_adapter(self) -> AsyncIterator[Adapter]:
        async with BotApi(TOKEN, self.server.url) as api:
            yield Telegram(api)

    async def say(
        self, chat: str, text: str, *, mention: bool = False, answers: str = "", thread: str = ""
    ) -> str:
        del thread
        fields: dict[str, Any] = {}
        if mention:
            text = f"@test_bot {text}"
            fields["entities"] = [{"type": "mention", "offset": 0, "length": 9}]
        if answers:
            fields["reply_to_message"] = {"message_id": int(answers), "from": self.server.bot}
        return self._number(self.server.send_user_message(int(chat), text, **fields))

    def _number(self, update: int) -> str:
        return str(self.server.update(update)["message"]["message_id"])

    async def change(self, chat: str, message_id: str, text: str) -> None:
        self.server.user_edits(int(chat), int(message_id), text, 1_800_000_100)

    async def say_as_bot(self, chat: str, text: str) -> None:
        robot = {"id": 99, "is_bot": True, "first_name": "Robot"}
        self.server.send_user_message(int(chat), text, **{"from": robot})

    async def hand_in_file(self, chat: str, name: str, data: bytes) -> None:
        self.server.files[name] = data
        document = {"file_id": name, "file_name": name, "file_size": len(data)}
        self.server.send_user_message(int(chat), None, document=document)

    async def list_shown_texts(self, chat: str) -> list[str]:
        return self.server.list_texts(int(chat))

    async def load_shown_file(self, chat: str) -> bytes:
        found = [data for to, _, _, data in self.server.sent_files if to == int(chat)]
        return found[-1]

    @asynccontextmanager
    async def lose_answers(self) -> AsyncIterator[None]:
        self.server.break_next("sendMessage", LOST_ANSWER)
        yield

    @asynccontextmanager
    async def flood(self) -> AsyncIterator[None]:
        self.server.break_next("sendMessage", too_many(3))
        yield

    async def leave(self) -> str:
        self.server.break_next("sendMessage", BLOCKED)
        return str(self._gone)


@pytest.fixture
async def world() -> AsyncIterator[TelegramWorld]:
    """One person, one group and the bot."""
    async with in_own_task(FakeBotApi(TOKEN)) as server:
        yield TelegramWorld(server)


class TestTelegram(ChannelContract):
    """All promises, without threads: those of Telegram are topics, which people make."""
