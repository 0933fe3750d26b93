"""The check of a journal's file while a daemon works."""

import os
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import apsw
import pytest
from fakes.time_limit import time_limit
from structlog.testing import capture_logs

from orchestrator.errors import ExitCode, JournalError
from orchestrator.extensions.selftest.crash.process_tree import list_descendants
from orchestrator.extensions.upkeep import damage_reader, journal_check
from orchestrator.extensions.upkeep.damage_reader import find_file_damage
from orchestrator.extensions.upkeep.journal_check import SMALL, JournalCheck
from orchestrator.journal.db import damage as damage_module
from orchestrator.journal.db.journal_file import build_wal_path
from orchestrator.journal.db.liveness import set_meta
from orchestrator.journal.db.sqlite_storage import PAGE, SqliteStorage, open_database
from orchestrator.journal.db.store import Store
from orchestrator.journal.db.writer import StorageFailedError

FOREVER = 1e9


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


async def events(store: Store, small: int = SMALL) -> list[str]:
    """Run the check to its end, and return what it logs."""
    with capture_logs() as logs, time_limit():
        await JournalCheck(store, first=0, small=small).run()
    return [entry["event"] for entry in logs]


async def put_later(store: Store) -> None:
    """Write something that must not be acknowledged."""
    with pytest.raises(StorageFailedError):
        await store.transact(set_meta, "more", 1)


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


async def test_journal_that_cannot_be_checked_goes_on(path: Path) -> None:
    """As when another process locks it; the log says so."""

    async def fail(*_: Any) -> Any:
        raise apsw.BusyError("database is locked")

    with closing(Store(SqliteStorage(path))) as store:
        with capture_logs() as logs, time_limit():
            await JournalCheck(store, first=0, in_thread=fail).run()  # type: ignore[arg-type]  # the fault
        assert [entry["event"] for entry in logs] == ["journal_not_checked"]
        assert store.failure is None


async def test_sound_journal_goes_on(path: Path) -> None:
    """And its next start needs no check before it."""
    store = Store(SqliteStorage(path))
    assert await events(store) == ["journal_checked"]
    await store.transact(set_meta, "more", 1)
    store.close()
    assert not build_wal_path(path).exists()


async def test_damage_behind_a_start_after_an_unclean_end_is_found(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What takes too long for the start is checked as soon as messages are answered."""
    monkeypatch.setattr(damage_module, "TABLE_SECONDS", 0)
    monkeypatch.setattr(damage_module, "STEPS", 1)
    damage(path)
    build_wal_path(path).touch()
    store = Store(SqliteStorage(path))
    with capture_logs() as logs, time_limit():
        await JournalCheck(store, first=FOREVER).run()
    assert [entry["event"] for entry in logs] == ["journal_damaged"]
    await put_later(store)
    store.close()


async def test_sound_journal_goes_on_after_an_unclean_end(path: Path) -> None:
    """It is checked, too: the start has looked at its small tables alone."""
    build_wal_path(path).touch()
    store = Store(SqliteStorage(path))
    assert await events(store) == ["journal_checked"]
    store.close()


@pytest.mark.process
async def test_large_journal_is_checked_in_a_process_of_its_own(path: Path) -> None:
    """Damage ends all writing as well."""
    store = Store(SqliteStorage(path))
    assert await events(store, small=0) == ["journal_checked"]
    await store.transact(set_meta, "more", 1)
    store.close()
    damage(path)
    store = Store(SqliteStorage(path))
    assert await events(store, small=0) == ["journal_damaged"]
    await put_later(store)
    store.close()


@pytest.mark.process
async def test_killed_check_is_told_and_left_to_the_next_start(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says nothing about the file, so the daemon goes on."""
    killed = (sys.executable, "-c", "import os; os.kill(os.getpid(), 9)")
    damage(path)
    store = Store(SqliteStorage(path))
    with monkeypatch.context() as patched:
        patched.setattr(journal_check, "COMMAND", killed)
        assert await events(store, small=0) == ["journal_not_checked"]
    assert store.failure is None
    store.close()
    store = Store(SqliteStorage(path))
    assert await events(store, small=0) == ["journal_damaged"]
    store.close()


@pytest.mark.process
async def test_disk_that_fails_under_the_check_is_damage(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel ends a process for which it cannot read a mapped page."""
    failing = (sys.executable, "-c", "import os; os.kill(os.getpid(), 7)")
    monkeypatch.setattr(journal_check, "COMMAND", failing)
    store = Store(SqliteStorage(path))
    assert await events(store, small=0) == ["journal_damaged"]
    store.close()


@pytest.mark.process
async def test_stop_ends_the_process_of_a_check(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would keep the file open, and the next start would take that for an unclean end."""
    script = "import signal; signal.pause()"
    monkeypatch.setattr(journal_check, "COMMAND", (sys.executable, "-c", script))
    store, before = Store(SqliteStorage(path)), {*list_descendants(os.getpid())}
    with time_limit():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(JournalCheck(store, first=0, small=0).run)
            await anyio.wait_all_tasks_blocked()
            assert len({*list_descendants(os.getpid())} - before) == 1
            tasks.cancel_scope.cancel()
    assert {*list_descendants(os.getpid())} <= before
    assert store.failure is None
    store.close()


def test_check_gives_way_to_the_write_ahead_log(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The longer the log has become, the longer the next reading may last, so that it ends."""
    monkeypatch.setattr(damage_reader, "STEPS", 1)
    monkeypatch.setattr(damage_reader, "LOG_SIZE", 1)
    with closing(open_database(path)) as db:
        with db:
            set_meta(db, "more", 1)
        pauses: list[float] = []
        assert find_file_damage(path, pauses.append) is None
        assert 1 < len(pauses) < 100
        damage(path)
        assert find_file_damage(path, pauses.append) is not None


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
