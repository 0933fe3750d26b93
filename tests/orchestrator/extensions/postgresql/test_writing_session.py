"""The session that writes: who has it has the journal, until the server has ended it."""

import os
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import anyio
import anyio.lowlevel
import psycopg
import pytest
from fakes.postgresql import database_of, follow, needs_programs, needs_server, sleep
from fakes.stored_keys import end_sessions, keys, put
from fakes.time_limit import time_limit

from orchestrator.errors import JournalError
from orchestrator.extensions.postgresql import pg_storage, writing_session
from orchestrator.extensions.postgresql.pg_connection import PostgresConnection
from orchestrator.extensions.postgresql.pg_storage import PostgresStorage
from orchestrator.extensions.selftest.nodes.postgres_server import run_server
from orchestrator.journal import opening
from orchestrator.journal.db import liveness
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store
from orchestrator.journal.db.writer import (
    JournalTakenError,
    StorageFailedError,
    StorageFullError,
)
from orchestrator.journal_address import DatabaseServer

pytestmark = needs_server


async def test_second_daemon_waits_until_the_first_has_ended(
    store: Store, server: DatabaseServer
) -> None:
    """It opens the journal then, with all that the first one has stored."""
    await store.transact(put, "first")
    opened = anyio.Event()
    seen: list[list[str]] = []

    async def wait() -> None:
        second = Store(await anyio.to_thread.run_sync(PostgresStorage, server))
        opened.set()
        with closing(second):
            seen.append(await second.read(keys))

    with time_limit():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await store.transact(put, "second")
            assert not opened.is_set()
            store.close()
    assert seen == [["first", "second"]]


async def test_daemon_whose_follower_has_ended_does_not_go_on(
    store: Store, server: DatabaseServer
) -> None:
    """It could have the lock again, but what it knows of the journal is old."""
    follow(server).close(None)
    with pytest.raises(JournalTakenError):
        await store.transact(put, "late")


async def test_idle_daemon_that_was_followed_keeps_no_session(
    server: DatabaseServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its signs of life find that another one has the journal; the next job does not write."""
    monkeypatch.setattr(pg_storage, "HEARTBEAT_SECONDS", 0.01)
    with closing(Store(PostgresStorage(server))) as store:
        other, connect, tries = follow(server), psycopg.connect, list[int]()

        def count(*args: object, **options: object) -> object:
            tries.append(1)
            return connect(*args, **options)  # type: ignore[arg-type]

        monkeypatch.setattr(psycopg, "connect", count)
        with closing(Store(other)) as now, time_limit():
            while len(tries) < 2:  # the first has ended by then
                await anyio.lowlevel.checkpoint()
            with pytest.raises(JournalTakenError):
                await store.transact(put, "late")
            assert await now.read(keys) == []


async def test_idle_daemon_learns_without_a_job_that_it_was_followed(
    server: DatabaseServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would go on to ask its platforms for messages that another one is to get."""
    monkeypatch.setattr(PostgresStorage, "watch", 0.01)
    store = Store(PostgresStorage(server))
    with closing(store), closing(Store(follow(server))), time_limit():
        assert isinstance(await store.wait_for_failure(), JournalTakenError)


async def test_journal_is_not_held_once_the_server_ended_the_session(
    server: DatabaseServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The daemon that waits for it has it then, long before the daemon's next sign of life."""
    monkeypatch.setattr(pg_storage, "HEARTBEAT_SECONDS", 3600)
    monkeypatch.setattr(writing_session, "LOST_AFTER", 3_600_000)
    storage = PostgresStorage(server)
    with closing(Store(storage)):
        assert storage.is_held()
        end_sessions(server)
        with time_limit():
            while storage.is_held():
                await anyio.lowlevel.checkpoint()


async def test_daemon_does_not_go_on_after_a_command_that_has_written(
    server: DatabaseServer,
) -> None:
    """Without it, while it was cut off: it would write what it knows from before."""
    with closing(Store(PostgresStorage(server))) as store:
        await store.transact(put, "mine")
        end_sessions(server)
        with opening.open_for_writing(server) as db:
            db.execute("DELETE FROM meta WHERE k = 'mine'")
        with pytest.raises(JournalTakenError):
            await store.transact(put, "late")


async def test_row_that_is_held_up_lets_no_session_wait_for_ever(
    store: Store, server: DatabaseServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By an administrator, who knows nothing of daemons; the job is done when he has ended."""
    monkeypatch.setattr(writing_session, "WITHIN", 500)
    end_sessions(server)  # the next one has this limit
    await store.transact(put, "first")
    with psycopg.connect(server.url) as session, time_limit():
        session.execute("LOCK TABLE meta")
        with pytest.raises(StorageFullError, match="lock timeout"):
            await store.transact_once(put, "second")
        session.rollback()
        await store.transact(put, "second")
    assert await store.read(keys) == ["first", "second"]


async def test_daemon_that_lost_the_journal_to_another_writes_no_more(
    store: Store, server: DatabaseServer
) -> None:
    """The server has given it away; the daemon has to end."""
    await store.transact(put, "mine")
    with closing(Store(follow(server))) as other:
        with pytest.raises(StorageFailedError, match="another daemon has taken the journal"):
            await store.transact(put, "late")
        with time_limit():
            assert "taken" in str(await store.wait_for_failure())
        assert await other.read(keys) == ["mine"]


async def test_lock_of_the_own_lost_session_is_no_other_daemons(store: Store) -> None:
    """The network broke, of which the server knows nothing yet."""
    lost: list[int] = []

    def lose(db: Database) -> None:
        put(db, f"k{len(lost)}")
        assert isinstance(db, PostgresConnection)
        if not lost:
            fd = db._session.fileno()
            lost.append(os.dup(fd))  # which keeps the session open for the server
            ours, theirs = socket.socketpair()
            os.dup2(ours.fileno(), fd)
            ours.close()
            theirs.close()

    await store.transact(lose)
    assert await store.read(keys) == ["k1"]
    os.close(lost[0])


async def test_self_test_ends_the_sessions_of_one_journal(
    store: Store, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The daemon of another one keeps its own."""
    other = DatabaseServer(database_of(tmp_path_factory.mktemp("other")), Path("journal.db"))
    with closing(opening.open_journal(other)) as untouched:
        await store.transact(put, "before")
        assert isinstance(store.storage, PostgresStorage)
        assert store.storage.session.end_all_sessions()
        await store.transact(put, "then")
        assert await store.read(keys) == ["before", "then"]
        assert untouched.execute("SELECT 1").get == 1


@pytest.mark.parametrize("behind", [3600, -3600])
async def test_clock_of_the_server_counts_on_a_machine_whose_own_is_wrong(
    server: DatabaseServer, monkeypatch: pytest.MonkeyPatch, behind: int
) -> None:
    """So that the times of all machines agree."""
    real = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: real() - behind * 10**9)
    with closing(Store(PostgresStorage(server))) as store:
        assert round(store.clock_offset() / 100_000) == behind / 100


async def test_machine_that_slept_proves_that_it_has_the_journal(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the server, before it does what another daemon may have taken over."""
    await store.ensure_held()
    sleep(monkeypatch)
    await store.ensure_held()


async def test_machine_that_slept_too_long_does_nothing_more(
    server: DatabaseServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server has given the journal to another daemon."""
    with closing(Store(PostgresStorage(server))) as slept, closing(Store(follow(server))):
        sleep(monkeypatch)
        with pytest.raises(JournalTakenError):
            await slept.ensure_held()


async def test_clock_that_agrees_is_left_alone(store: Store) -> None:
    """A message takes its time to the server and back."""
    assert store.clock_offset() == 0


@needs_programs
async def test_server_that_starts_later_is_waited_for(tmp_path: Path) -> None:
    """As when both start with the machine, or while a standby takes the place of its server."""
    with run_server() as server:
        server.crash()
        begun = threading.Event()

        def start() -> None:
            begun.wait()
            server.start()

        address = DatabaseServer(server.url, tmp_path / "journal.db")
        with ThreadPoolExecutor() as threads:
            starting = threads.submit(start)
            with closing(Store(PostgresStorage(address, begun.set))) as store:
                assert await store.read(liveness.count_starts) == 0
            starting.result()


async def test_server_that_is_not_there_is_told(tmp_path: Path) -> None:
    """With the address, without its password, and with what to do."""
    away = DatabaseServer("postgresql://me:secret@127.0.0.1:1/x", tmp_path / "journal.db")
    with pytest.raises(JournalError, match="check the server and ORCHESTRATOR_STORE") as found:
        PostgresStorage(away, away=0)
    assert "postgresql://127.0.0.1:1/x" in str(found.value)
    assert "secret" not in str(found.value)
    assert "secret" not in repr(away)
