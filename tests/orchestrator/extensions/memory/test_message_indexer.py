"""The daemon's job for the index of messages, and what a search does before it looks."""

from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from fakes.golden import restore_in
from fakes.journal import store_in
from fakes.memory import WORK
from fakes.message_search import search_messages
from fakes.time_limit import time_limit

from orchestrator.extensions.memory import message_index, message_indexer
from orchestrator.extensions.memory.message_indexer import REPLIES, MessageIndexer
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.dialect import has_earlier_index
from orchestrator.journal.db.store import Store
from orchestrator.journal.turns import sessions
from thinker.protocol.messages import UserMessage

COUNT = "SELECT count(*) FROM message_place"
SAID = "SELECT count(*) FROM said"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """The open journal, which a released version left behind."""
    restore_in(tmp_path)
    opened = store_in(tmp_path)
    yield opened
    opened.close()


def say(db: Database, text: str) -> None:
    """Store a message of a conversation."""
    session = sessions.open_session(db, "work", "c", 1)
    sessions.append_messages(db, session, "t1", [UserMessage(content=text)], 1)


def count(db: Database) -> tuple[int, int]:
    """How many messages are indexed, and how many there are."""
    return int(db.execute(COUNT).get), int(db.execute(SAID).get)


async def is_complete(store: Store) -> bool:
    """Whether each message is indexed."""
    indexed, said = await store.read(count)
    return indexed == said


async def test_messages_of_an_earlier_version_are_indexed_beside_new_ones(store: Store) -> None:
    """Once each; the journal knows how far that has come."""
    assert await store.read(message_index.is_filling)
    await store.transact(say, "a zeppelin came")
    await message_indexer.index_new_messages(store)
    assert (await store.read(count))[0] == 1
    assert await message_indexer.index_before_search(store)
    assert await store.read(message_index.is_filling) == await store.read(has_earlier_index)
    while await store.transact(message_index.fill_index):
        pass
    assert await is_complete(store)
    assert not await store.read(message_index.is_filling)
    found = await store.read(search_messages, WORK, "zeppelin", 5)
    assert [one.text for one in found] == ["a zeppelin came"]


async def test_replies_are_indexed_together(store: Store) -> None:
    """Each transaction has its price, and a search indexes the rest."""
    indexer = MessageIndexer(store)
    with time_limit():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(indexer.run)
            while not await is_complete(store):
                await anyio.lowlevel.checkpoint()
            await store.transact(say, "a zeppelin came")
            for _ in range(REPLIES - 1):
                indexer.count_reply("c")
            assert not await is_complete(store)
            indexer.count_reply("c")
            while not await is_complete(store):
                await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()


async def test_transaction_indexes_few_characters(store: Store) -> None:
    """Others wait for it; one long message is indexed alone, by its beginning."""
    while await store.transact(message_index.fill_index):
        pass
    before = (await store.read(count))[0]
    text = "zeppelin " * (message_index.MAX_BYTES // 20)
    for said in (text, text, text, f"{'word ' * 9000}dirigible"):
        await store.transact(say, said)
    steps = []
    while upto := await store.read(message_index.find_new_messages):
        await store.transact(message_index.index_new_messages, upto)
        steps.append((await store.read(count))[0] - before)
    assert steps == [2, 3, 4]
    assert len(await store.read(search_messages, WORK, "zeppelin", 9)) == 3
    assert len(await store.read(search_messages, WORK, "word", 9)) == 1
    assert await store.read(search_messages, WORK, "dirigible", 9) == []
