"""The check of a journal that was closed cleanly."""

from pathlib import Path

import anyio
import pytest
from fakes.time_limit import time_limit
from structlog.testing import capture_logs

from orchestrator.errors import ExitCode, JournalError
from orchestrator.extensions.upkeep.journal_check import JournalCheck
from orchestrator.journal.db.journal_file import build_wal_path
from orchestrator.journal.db.liveness import set_meta
from orchestrator.journal.db.sqlite_storage import PAGE, SqliteStorage, open_database
from orchestrator.journal.db.store import Store
from orchestrator.journal.db.writer import StorageFailedError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of a journal of some pages that was closed cleanly."""
    path = tmp_path / "journal.db"
    db = open_database(path)
    with db:
        for number in range(2000):
            set_meta(db, f"{'k' * 100}{number}", number)
    db.close()
    return path


def damage(path: Path) -> None:
    """Overwrite half a page of the rows, as a failing disk does."""
    data = bytearray(path.read_bytes())
    for page in range(-80, -20):
        data[page * PAGE : page * PAGE + PAGE // 2] = b"\xff" * (PAGE // 2)
    path.write_bytes(data)


async def events(store: Store) -> list[str]:
    """Run the check to its end, and return what it logs."""
    with capture_logs() as logs, time_limit():
        await JournalCheck(store, first=0).run()
    return [entry["event"] for entry in logs]


async def test_damage_ends_all_writing_and_the_next_start_refuses_the_file(path: Path) -> None:
    """It is found before anybody needs the page."""
    damage(path)
    store = Store(SqliteStorage(path))
    assert await events(store) == ["journal_damaged"]
    with time_limit():
        found = await store.wait_for_failure()
    assert found.exit_code is ExitCode.IO
    assert "restore a backup" in str(found)
    with pytest.raises(StorageFailedError):
        await store.transact(set_meta, "more", 1)
    store.close()
    with pytest.raises(JournalError, match="restore a backup"):
        Store(SqliteStorage(path))


async def test_sound_journal_goes_on(path: Path) -> None:
    """And its next start needs no check before it."""
    store = Store(SqliteStorage(path))
    assert await events(store) == ["journal_checked"]
    await store.transact(set_meta, "more", 1)
    store.close()
    assert not build_wal_path(path).exists()


async def test_file_that_was_checked_at_its_opening_is_not_checked_again(path: Path) -> None:
    """Its last end was unclean."""
    build_wal_path(path).touch()
    store = Store(SqliteStorage(path))
    assert await events(store) == []
    store.close()


async def test_stop_waits_for_no_check(path: Path) -> None:
    """It is neither waited for nor taken for damage, and leaves the file closed."""
    store = Store(SqliteStorage(path))
    with time_limit():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(JournalCheck(store, first=0).run)
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
    assert store.failure is None
    store.close()
    assert not build_wal_path(path).exists()
