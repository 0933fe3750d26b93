"""Looking at the journal beside its writer."""

import threading
from collections.abc import Iterator
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from fakes.time_limit import LIMIT

from orchestrator.errors import JournalError
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.sqlite_storage import SqliteStorage
from orchestrator.journal.db.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An open journal."""
    opened = Store(SqliteStorage(tmp_path / "journal.db"))
    yield opened
    opened.close()


def put(db: Database, value: str) -> None:
    """A change."""
    db.execute("INSERT OR REPLACE INTO meta VALUES('k', ?)", (value,))


def get(db: Database) -> object:
    """What `put` has stored."""
    return db.execute("SELECT v FROM meta WHERE k = 'k'").get


def files(folder: Path) -> list[str]:
    """The names of a folder's files."""
    return [path.name for path in folder.iterdir()]


async def test_reader_sees_what_was_committed_and_nothing_else(store: Store) -> None:
    """Also while the writer is in the middle of something."""
    await store.transact(put, "one")
    begun, looked = threading.Event(), threading.Event()

    def half(db: Database) -> None:
        put(db, "two")
        begun.set()
        looked.wait(LIMIT)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(store.transact, half)
        await anyio.to_thread.run_sync(begun.wait, LIMIT)
        assert await store.read(get) == "one"
        looked.set()
    assert await store.read(get) == "two"


async def test_read_does_not_suspend_its_caller(store: Store) -> None:
    """A look at the file is over before another task runs."""
    await store.transact(put, "one")
    with pytest.raises(StopIteration) as ended:
        store.read(get).send(None)
    assert ended.value.value == "one"


async def test_look_that_fails_leaves_nothing_open(store: Store) -> None:
    """The next one sees what was written since."""

    def look(db: Database) -> None:
        get(db)
        raise LookupError

    with pytest.raises(LookupError):
        await store.read(look)
    await store.transact(put, "new")
    assert await store.read(get) == "new"


async def test_reader_cannot_write(store: Store) -> None:
    """There is one writer."""
    with pytest.raises(JournalError, match="cannot be read"):
        await store.read(put, "one")


async def test_closed_journal_is_not_read_and_leaves_no_wal(tmp_path: Path) -> None:
    """The mark of a clean end."""
    store = Store(SqliteStorage(tmp_path / "journal.db"))
    await store.read(get)
    store.close()
    assert files(tmp_path) == ["journal.db"]
    with pytest.raises(JournalError, match="cannot be read"):
        await store.read(get)


async def test_search_keeps_neither_the_loop_nor_the_writer(store: Store) -> None:
    """It runs on a thread of its own, where it sees what was committed."""
    await store.transact(put, "one")
    begun, looked = threading.Event(), threading.Event()

    def look(db: Database) -> object:
        begun.set()
        looked.wait(LIMIT)
        return get(db)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(store.search, look)
        await anyio.to_thread.run_sync(begun.wait, LIMIT)
        await store.transact(put, "two")
        assert await store.read(get) == "two"
        looked.set()
    assert await store.search(get) == "two"


async def test_searches_come_one_after_the_other(store: Store) -> None:
    """There is one connection for them."""
    running = [0]

    def look(_: Database) -> None:
        running.append(running[-1] + 1)
        running.append(running[-1] - 1)

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(store.search, look)
    assert max(running) == 1


async def test_search_cannot_write(store: Store) -> None:
    """There is one writer."""
    with pytest.raises(JournalError, match="cannot be read"):
        await store.search(put, "one")
