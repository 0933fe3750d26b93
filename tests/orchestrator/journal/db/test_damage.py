"""Damaged pages of the journal's file: what finds them, and what happens then."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

import anyio.to_thread
import apsw
import pytest
from fakes.time_limit import LIMIT, time_limit

from orchestrator.errors import JournalError
from orchestrator.journal.db import damage, journal_file
from orchestrator.journal.db.liveness import set_meta
from orchestrator.journal.db.sqlite_storage import PAGE, SqliteStorage, open_database
from orchestrator.journal.db.store import Store
from orchestrator.journal.db.writer import JournalDamagedError


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An open journal."""
    opened = Store(SqliteStorage(tmp_path / "journal.db"))
    yield opened
    opened.close()


def put(db: apsw.Connection, key: str) -> str:
    """A change; the returned key proves that the job ran."""
    set_meta(db, key, 1)
    return key


def keys(db: apsw.Connection) -> list[str]:
    """What `put` has stored, from all pages."""
    return [str(key) for (key,) in db.execute("SELECT k FROM meta")]


def damage_rows(path: Path) -> None:
    """Overwrite pages that hold the rows of `damaged`, as a failing disk does."""
    content = bytearray(path.read_bytes())
    for page in range(-80, -20):
        content[page * PAGE : page * PAGE + PAGE // 2] = b"\xff" * (PAGE // 2)
    path.write_bytes(content)


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """The path of a journal of which a large table has damaged pages."""
    path = tmp_path / "journal.db"
    with closing(open_database(path)) as db, db:
        for number in range(2000):
            put(db, f"{'k' * 100}{number}")
    damage_rows(path)
    return path


async def test_damaged_page_that_a_transaction_meets_ends_all_writing(damaged: Path) -> None:
    """It may be met before the check finds it; the next start looks at the whole file."""
    store = Store(SqliteStorage(damaged))
    with pytest.raises(JournalDamagedError, match="restore a backup"):
        await store.transact(keys)
    with pytest.raises(JournalDamagedError):
        await store.transact(put, "a")
    store.close()
    assert "damaged" in (journal_file.read_failed_mark(damaged) or "")
    for _ in range(2):
        with pytest.raises(JournalError, match="restore a backup"):
            Store(SqliteStorage(damaged))


async def test_damaged_page_that_a_read_meets_ends_all_writing(damaged: Path) -> None:
    """The other pages are not written on."""
    store = Store(SqliteStorage(damaged))
    with pytest.raises(JournalDamagedError):
        await store.read(keys)
    with pytest.raises(JournalDamagedError):
        await store.transact(put, "a")
    store.close()


async def test_work_that_was_queued_when_damage_is_found_is_not_acknowledged(store: Store) -> None:
    """A caller would tell others that it is stored."""
    begun, found = threading.Event(), threading.Event()

    def slow(db: apsw.Connection) -> str:
        begun.set()
        found.wait(LIMIT)
        return put(db, "a")

    with time_limit():
        waiting = asyncio.ensure_future(store.transact(slow))
        await anyio.to_thread.run_sync(begun.wait, LIMIT)
        store.record_failure(JournalDamagedError("a page"))
        found.set()
        with pytest.raises(JournalDamagedError):
            await waiting


def test_file_that_is_whole_after_a_failure_is_used_again(tmp_path: Path) -> None:
    """The disk was changed, or a backup was put there by hand."""
    path = tmp_path / "journal.db"
    open_database(path).close()
    journal_file.mark_file_failed(path, "the disk failed")
    assert SqliteStorage(path).unclean
    assert journal_file.read_failed_mark(path) is None


def test_start_leaves_off_a_table_that_takes_long(
    damaged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest of it is checked while the daemon works."""
    monkeypatch.setattr(damage, "STEPS", 1)
    with closing(apsw.Connection(str(damaged))) as db:
        assert damage.find_damage_quickly(db, clock=lambda: 0.0) is not None
        assert damage.find_damage_quickly(db, clock=count().__next__) is None


def test_a_check_that_cannot_be_made_has_found_no_damage(tmp_path: Path) -> None:
    """As when another process locks the file, or memory is short; a start goes on."""
    with closing(open_database(tmp_path / "journal.db")) as db:
        tables = damage.list_tables(db)
        db.authorizer = lambda action, *_: (
            apsw.SQLITE_DENY if action == apsw.SQLITE_PRAGMA else apsw.SQLITE_OK
        )
        with pytest.raises(apsw.AuthError):
            damage.find_damage(db, tables[0])
        assert damage.find_damage_quickly(db) is None
