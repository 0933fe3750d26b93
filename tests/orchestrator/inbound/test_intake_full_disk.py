"""A full disk: nothing is confirmed, and each chat gets one notice."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import anyio
import pytest
from anyio import create_task_group
from fakes.agents_file import validate_file
from fakes.carrier import stand_in
from fakes.channel import FakeChannel, silent
from fakes.commands import NoQueues, command_desk
from fakes.journal import store_in
from fakes.postgresql import sqlite_only

from orchestrator.channel_api import InboundMessage
from orchestrator.inbound.intake import NO_SPACE, JournalIntake
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store
from orchestrator.journal.db.writer import StorageFullError
from orchestrator.journal.inspect import recent_turns
from orchestrator.outbound.delivery import Delivery

pytestmark = sqlite_only
with stand_in():
    AGENTS = validate_file(
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


def limit(db: Database, pages: int) -> None:
    """Let the file have so many pages."""
    db.execute(f"PRAGMA max_page_count={pages:d}")


class Full(NamedTuple):
    """A full store, a chat platform, its delivery, and what hands messages to the store."""

    store: Store
    chats: FakeChannel
    delivery: Delivery
    intake: JournalIntake


@asynccontextmanager
async def full(folder: Path) -> AsyncIterator[Full]:
    """A store that can take no more, and what hands messages to it."""
    store, chats = store_in(folder, retry=0.01), FakeChannel()
    try:
        await store.transact_once(limit, 1)
        commands = command_desk(store, lambda: AGENTS)
        async with create_task_group() as tasks:
            delivery = Delivery(store, {"telegram": chats}, tasks, lambda: 0, silent)
            queues, nothing = NoQueues(), lambda: None
            intake = JournalIntake(
                store, lambda: AGENTS, delivery.send_unstored, queues, nothing, commands
            )
            yield Full(store, chats, delivery, intake)
    finally:
        store.close()


async def test_each_admitted_chat_gets_one_notice_and_nothing_is_confirmed(tmp_path: Path) -> None:
    """However often the platform repeats the message; strangers get none."""
    async with full(tmp_path) as (store, chats, _, intake):
        for _ in range(3):
            with pytest.raises(StorageFullError):
                await intake.accept([says(1, "7"), says(2, "8")], 3)
        assert [(part.chat_id, part.text) for part in chats.sent] == [("7", NO_SPACE)]
        assert await intake.load_offset("telegram", "1") == 0
        await store.transact_once(limit, 1_000_000)
        await intake.accept([says(1, "7"), says(2, "8")], 3)
        assert await intake.load_offset("telegram", "1") == 3
        assert (await store.transact(recent_turns.count_messages_by_state))["new"] == 1
        await store.transact_once(limit, 1)
        with pytest.raises(StorageFullError):
            await intake.accept([says(4, "7")], 5)
        assert [part.chat_id for part in chats.sent] == ["7", "7"]


async def test_chat_that_wants_nothing_for_now_gets_its_notice_later(tmp_path: Path) -> None:
    """The platform asked for a pause; what it was not sent, it is sent when that is over."""
    async with full(tmp_path) as (store, chats, delivery, intake), create_task_group() as tasks:
        delivery.flood.hold_chat("telegram", "7", 3600, anyio.current_time() - 1)
        with pytest.raises(StorageFullError):
            await intake.accept([says(1, "7")], 2)
        assert chats.sent == []
        intake.tell = Delivery(store, {"telegram": chats}, tasks, lambda: 0, silent).send_unstored
        with pytest.raises(StorageFullError):
            await intake.accept([says(1, "7")], 2)
        assert [part.text for part in chats.sent] == [NO_SPACE]
