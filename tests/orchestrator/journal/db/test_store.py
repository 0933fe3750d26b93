"""The journal's file: group commit, failures of jobs, of the disk and of the file."""

import asyncio
import sqlite3
import stat
import threading
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import anyio.to_thread
import apsw
import pytest
from fakes import golden
from fakes.time_limit import LIMIT, time_limit
from structlog.testing import capture_logs

from orchestrator.errors import ExitCode, JournalError
from orchestrator.journal.db.sqlite_storage import (
    SqliteStorage,
    open_database,
    open_for_reading,
    open_without_upgrade,
)
from orchestrator.journal.db.store import FencedError, Store, report_failure
from orchestrator.journal.db.writer import (
    StorageFailedError,
    StorageFullError,
)
from orchestrator.journal.migrations import load_schema
from orchestrator.journal_address import find_journal_file


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An open journal."""
    opened = Store(SqliteStorage(tmp_path / "journal.db"))
    yield opened
    opened.close()


def put(db: apsw.Connection, key: str, value: str = "x") -> str:
    """A change; the returned key proves that the job ran."""
    db.execute("INSERT INTO meta VALUES(?,?)", (key, value))
    return key


def put_small(db: apsw.Connection) -> None:
    """A change that fits into the pages there are."""
    put(db, "small")


def keys(db: apsw.Connection) -> list[str]:
    """What `put` has stored."""
    return [str(key) for (key,) in db.execute("SELECT k FROM meta ORDER BY k")]


class Gate:
    """A job that holds the writer, so that what is queued meanwhile forms one group."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.leave = threading.Event()

    def hold(self, db: apsw.Connection) -> None:
        """Wait in the writer thread."""
        del db
        self.entered.set()
        assert self.leave.wait(LIMIT)


def queued(store: Store, *work: object) -> "asyncio.Future[object]":
    """A transaction that has been asked for."""
    return asyncio.ensure_future(store.transact_once(*work))  # type: ignore[arg-type]  # any signature


async def grouped(store: Store, *work: tuple[object, ...]) -> list[object]:
    """Run jobs as one group behind a held writer; their values or errors."""
    gate = Gate()
    with time_limit():
        held = queued(store, gate.hold)
        await asyncio.to_thread(gate.entered.wait, LIMIT)
        jobs = [queued(store, *one) for one in work]
        await anyio.wait_all_tasks_blocked()
        gate.leave.set()
        await held
        return await asyncio.gather(*jobs, return_exceptions=True)


async def test_jobs_that_wait_share_one_commit(store: Store) -> None:
    """Twenty changes, one fsync; each caller gets its own value."""
    commits: list[bool] = []

    def count() -> bool:
        commits.append(True)
        return False  # let it commit

    def watch(db: apsw.Connection) -> None:
        db.set_commit_hook(count)

    await store.transact(watch)
    commits.clear()
    names = [f"k{number:02}" for number in range(20)]
    assert await grouped(store, *((put, name) for name in names)) == names
    assert len(commits) <= 2  # that of the gate, which changed nothing, and that of the group
    assert await store.transact(keys) == names


async def test_job_without_a_name_fails_at_once(store: Store) -> None:
    """It ended the writer, and callers waited for ever; others go on."""
    with time_limit():
        with pytest.raises(AttributeError, match="no attribute '__name__'"):
            await store.transact(partial(put, key="nameless"))
        assert await store.transact(put, "named") == "named"
        assert await store.transact(keys) == ["named"]


async def test_failing_job_takes_back_only_itself(store: Store) -> None:
    """Its neighbours in the group are committed, whatever way it fails."""

    def half(db: apsw.Connection) -> None:
        put(db, "half")
        raise ValueError("no")

    def broken(db: apsw.Connection) -> None:
        put(db, "lost")
        db.execute("INSERT INTO no_such_table VALUES(1)")

    results = await grouped(store, (put, "a"), (half,), (put, "b"), (broken,), (put, "a"))
    assert [type(result) for result in results] == [
        str,
        ValueError,
        str,
        apsw.SQLError,
        apsw.ConstraintError,
    ]
    assert await store.transact(keys) == ["a", "b"]


async def test_caller_hears_of_a_job_after_the_commit(store: Store, tmp_path: Path) -> None:
    """What was acknowledged is visible to another connection at that moment."""
    other = sqlite3.connect(tmp_path / "journal.db")
    await store.transact(put, "a")
    assert other.execute("SELECT count(*) FROM meta").fetchone() == (1,)
    other.close()


async def test_cancelled_caller_does_not_undo_its_job(store: Store) -> None:
    """Nor does it disturb the others."""
    gate = Gate()
    with time_limit():
        held = queued(store, gate.hold)
        await asyncio.to_thread(gate.entered.wait, LIMIT)
        with anyio.move_on_after(0):
            await store.transact(put, "a")
        gate.leave.set()
        await held
        assert await store.transact(keys) == ["a"]


async def test_full_disk_writes_nothing_and_can_be_freed(store: Store) -> None:
    """No job of the group is acknowledged; with space the same store goes on."""

    def limit(db: apsw.Connection, pages: int) -> None:
        db.execute(f"PRAGMA max_page_count={pages:d}")

    await store.transact(limit, 1)
    results = await grouped(store, (put, "a"), (put, "big", "x" * 1_000_000), (put, "b"))
    assert [type(result) for result in results] == [StorageFullError] * 3
    assert "disk is full" in str(results[0])
    assert await store.transact(keys) == []
    await store.transact(limit, 1_000_000)
    assert await store.transact(put, "a") == "a"


async def test_failed_disk_ends_all_writing(store: Store) -> None:
    """After a failed write or fsync nothing is known, so nothing more is acknowledged (F22)."""

    def fail(db: apsw.Connection) -> None:
        put(db, "a")
        raise apsw.IOError("disk I/O error")

    results = await grouped(store, (fail,), (put, "b"))
    assert [type(result) for result in results] == [StorageFailedError] * 2
    with pytest.raises(StorageFailedError, match="check the disk") as caught:
        await store.transact(put, "c")
    assert caught.value.exit_code is ExitCode.IO
    assert not isinstance(caught.value, JournalError)  # which callers try again


async def test_close_finishes_the_queue_and_refuses_what_comes_later(tmp_path: Path) -> None:
    """Closing twice does no harm."""
    store = Store(SqliteStorage(tmp_path / "journal.db"))
    jobs = [queued(store, put, f"k{number}") for number in range(200)]
    await anyio.wait_all_tasks_blocked()
    store.close()
    store.close()
    with time_limit():
        assert len(await asyncio.gather(*jobs)) == 200
        with pytest.raises(JournalError, match="closed"):
            await store.transact(put, "late")
    with_again = Store(SqliteStorage(tmp_path / "journal.db"))
    assert len(await with_again.transact(keys)) == 200
    with_again.close()


def test_writer_survives_a_loop_that_is_gone(tmp_path: Path) -> None:
    """A daemon that was cancelled leaves jobs behind; they are still written."""
    store = Store(SqliteStorage(tmp_path / "journal.db"))

    async def leave() -> None:
        queued(store, put, "a")
        await anyio.lowlevel.checkpoint()

    anyio.run(leave)
    anyio.run(store.transact, put, "b")
    assert anyio.run(store.transact, keys) == ["a", "b"]
    store.close()


def test_file_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    """Also one that was made with wider rights; also what SQLite puts beside it."""
    path = tmp_path / "journal.db"
    open_database(path).close()
    path.chmod(0o644)
    store = Store(SqliteStorage(path))
    anyio.run(store.transact, put, "a")
    names = ("journal.db", "journal.db-wal", "journal.db-shm", "journal.db-job")
    modes = {entry.name: stat.S_IMODE(entry.stat().st_mode) for entry in tmp_path.iterdir()}
    store.close()
    assert modes == dict.fromkeys(names, 0o600)


def test_durability_is_on(tmp_path: Path) -> None:
    """WAL, and an fsync for every commit."""
    db = open_database(tmp_path / "journal.db")
    names = ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
    assert [db.execute(f"PRAGMA {name}").get for name in names] == ["wal", 2, 1, 5000]
    db.close()


def test_new_file_has_small_pages_and_an_older_one_keeps_its_own(tmp_path: Path) -> None:
    """The log is as long for both, in bytes, so that a start after a kill reads no more of it."""
    sizes = []
    for older in (False, True):
        with closing(open_database(tmp_path / "journal.db")) as db:
            if older:
                db.execute("PRAGMA journal_mode=DELETE; PRAGMA page_size=4096; VACUUM").fetchall()
        with closing(open_database(tmp_path / "journal.db")) as db:
            names = ("page_size", "wal_autocheckpoint")
            sizes.append([db.execute(f"PRAGMA {name}").get for name in names])
    assert sizes == [[1024, 4000], [4096, 1000]]


def test_file_that_cannot_be_opened_is_our_error(tmp_path: Path) -> None:
    """A missing folder, a folder in its place, text in it."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "text").write_text("this is no database " * 100, "utf-8")
    for name in ("missing/journal.db", "folder", "text"):
        with pytest.raises(JournalError, match="restore a backup"):
            Store(SqliteStorage(tmp_path / name))
    assert (tmp_path / "text").read_text("utf-8").startswith("this is no database")


def test_damage_is_found_after_an_unclean_end(tmp_path: Path) -> None:
    """A torn page is not worked with, and the file is kept as it is (F24)."""
    path = tmp_path / "journal.db"
    db = open_database(path)
    with db:
        for number in range(2000):
            put(db, f"k{number}", "x" * 100)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    path.with_name("journal.db-wal").touch()
    open_database(path).close()
    damaged = bytearray(path.read_bytes())
    for page in range(-20, -5):
        damaged[page * 4096 : page * 4096 + 2000] = b"\xff" * 2000
    path.write_bytes(damaged)
    path.with_name("journal.db-wal").touch()
    with pytest.raises(JournalError, match="restore a backup"):
        open_database(path)
    assert path.read_bytes() == damaged


async def test_full_disk_is_waited_out(tmp_path: Path) -> None:
    """Every caller goes on when there is space; the log says it once each way."""

    def limit(db: apsw.Connection, pages: int) -> None:
        db.execute(f"PRAGMA max_page_count={pages:d}")

    store = Store(SqliteStorage(tmp_path / "journal.db"), retry=0.01)
    await store.transact_once(limit, 1)
    with capture_logs() as logs, time_limit():
        waiting = asyncio.ensure_future(store.transact(put, "a", "x" * 1_000_000))
        for name in "bc":
            with pytest.raises(StorageFullError):
                await store.transact_once(put, name, "x" * 1_000_000)
        await store.transact(limit, 1_000_000)
        assert await waiting == "a"
    assert [line["event"] for line in logs] == ["storage_full", "storage_has_space"]
    assert await store.transact(keys) == ["a"]
    store.close()


async def test_small_work_that_fits_does_not_tell_of_space(tmp_path: Path) -> None:
    """The disk stays full for the log until what did not fit fits, so each is told once."""

    def limit(db: apsw.Connection, pages: int) -> None:
        db.execute(f"PRAGMA max_page_count={pages:d}")

    store = Store(SqliteStorage(tmp_path / "journal.db"))
    await store.transact_once(limit, 1)  # no more pages than there are
    with capture_logs() as logs:
        with pytest.raises(StorageFullError):
            await store.transact_once(put, "a", "x" * 1_000_000)
        await store.transact_once(put_small)
        with pytest.raises(StorageFullError):
            await store.transact_once(put, "a", "x" * 1_000_000)
        await store.transact_once(limit, 1_000_000)
        await store.transact_once(put, "a", "x" * 1_000_000)
    assert [line["event"] for line in logs] == ["storage_full", "storage_has_space"]
    store.close()


async def test_failed_disk_is_announced(store: Store) -> None:
    """Also to those who wrote nothing."""

    def fail(_: apsw.Connection) -> None:
        raise apsw.IOError("disk I/O error")

    with time_limit():
        announced = asyncio.ensure_future(store.wait_for_failure())
        assert store.failure is None
        with pytest.raises(StorageFailedError) as caught:
            await store.transact(fail)
        assert await announced is store.failure is caught.value


def test_journal_is_read_while_somebody_writes_it(store: Store) -> None:
    """One state for the whole block, and no way to change it."""
    with open_for_reading(find_journal_file(store.address)) as db:
        assert keys(db) == []
        anyio.run(store.transact, put, "a")
        assert keys(db) == []
    with open_for_reading(find_journal_file(store.address)) as db:
        assert keys(db) == ["a"]
    with (
        pytest.raises(JournalError, match="cannot be read"),
        open_for_reading(find_journal_file(store.address)) as db,
    ):
        put(db, "b")


@pytest.mark.parametrize("release", golden.FILES, ids=lambda file: file.stem)
def test_journal_of_an_older_release_is_read_as_if_it_were_new(
    tmp_path: Path, release: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commands show its facts with the columns of today; the file keeps its schema."""
    path = tmp_path / "journal.db"
    golden.restore(path, release)
    golden.upgrade_program(monkeypatch, golden.MOOD)
    with open_for_reading(path) as db:
        assert db.execute("PRAGMA user_version").get == load_schema().number + 1
        assert db.execute("SELECT count(mood) FROM fact").get
    with open_without_upgrade(path) as db:
        assert db.execute("PRAGMA user_version").get == int(release.stem)


async def test_opening_waits_for_who_locks_the_file_briefly(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader that comes first after a kill rebuilds the index of the WAL, under a lock."""
    store.close()
    other = apsw.Connection(str(find_journal_file(store.address)))
    other.execute("PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE").fetchall()
    connected = threading.Event()
    monkeypatch.setattr(apsw, "connection_hooks", [lambda _: connected.set()])
    with time_limit():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(
                anyio.to_thread.run_sync, open_database, find_journal_file(store.address)
            )
            await anyio.to_thread.run_sync(connected.wait)
            with pytest.raises(apsw.BusyError):  # it is held while the other waits for it
                apsw.Connection(str(find_journal_file(store.address))).execute("SELECT * FROM meta")
            other.close()


def test_row_that_another_node_works_for_is_no_failure_of_the_journal() -> None:
    """It is met whenever an agent moves, and an operator can do nothing about it."""
    with capture_logs() as logs:
        report_failure(JournalError("it is away"))
        report_failure(FencedError("another node works for 'work'"))
    assert [one["log_level"] for one in logs] == ["error", "debug"]
