"""A full disk: nothing is confirmed, and each chat gets one notice."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import apsw
import pytest
from fakes.channel import FakeChannel
from fakes.commands import NoQueues, command_desk

from orchestrator.agentsfile import AgentsFile
from orchestrator.channel_api import InboundMessage
from orchestrator.inbound.intake import NO_SPACE, JournalIntake
from orchestrator.journal.db.store import Store
from orchestrator.journal.db.writer import StorageFullError
from orchestrator.journal.inspect import recent

AGENTS = AgentsFile.model_validate(
    {
        "agents": [{"agentId": "work", "llmProvider": "demo"}],
        "bindings": [{"channel": "telegram", "chatId": "7", "agentId": "work"}],
    }
)


def says(number: int, chat_id: str, text: str = "x" * 1_000_000) -> InboundMessage:
    """An update that is too big for the disk, unless its text is short."""
    return InboundMessage(
        channel="telegram",
        bot_id="1",
        chat_id=chat_id,
        message_id=str(number),
        sender_id=chat_id,
        text=text,
        update_id=number,
    )


def limit(db: apsw.Connection, pages: int) -> None:
    """Let the file have so many pages."""
    db.execute(f"PRAGMA max_page_count={pages:d}")


@asynccontextmanager
async def full(folder: Path) -> AsyncIterator[tuple[Store, FakeChannel, JournalIntake]]:
    """A store that can take no more, and what hands messages to it."""
    store, chats = Store(folder / "journal.db", retry=0.01), FakeChannel()
    try:
        await store.attempt(limit, 1)
        commands = command_desk(store, lambda: AGENTS)
        adapters = {"telegram": chats}
        lanes, nothing = NoQueues(), lambda: None
        yield store, chats, JournalIntake(store, lambda: AGENTS, adapters, lanes, nothing, commands)
    finally:
        store.close()


async def test_each_admitted_chat_gets_one_notice_and_nothing_is_confirmed(tmp_path: Path) -> None:
    """However often the platform repeats the message; strangers get none."""
    async with full(tmp_path) as (store, chats, intake):
        for _ in range(3):
            with pytest.raises(StorageFullError):
                await intake.accept([says(1, "7"), says(2, "8")], 3)
        assert [(part.chat_id, part.text) for part in chats.sent] == [("7", NO_SPACE)]
        assert await intake.offset("telegram", "1") == 0
        await store.attempt(limit, 1_000_000)
        await intake.accept([says(1, "7"), says(2, "8")], 3)
        assert await intake.offset("telegram", "1") == 3
        assert (await store.transact(recent.counts))["new"] == 1
        await store.attempt(limit, 1)
        with pytest.raises(StorageFullError):
            await intake.accept([says(4, "7")], 5)
        assert [part.chat_id for part in chats.sent] == ["7", "7"]
