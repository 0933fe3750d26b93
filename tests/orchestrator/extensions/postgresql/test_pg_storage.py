"""The journal's writer and readers on PostgreSQL, whose sessions end at any moment."""

from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import anyio
import anyio.lowlevel
import psycopg
import pytest
from fakes.postgresql import needs_programs, needs_server
from fakes.stored_keys import end_sessions, keys, put
from structlog.testing import capture_logs

from orchestrator.extensions.postgresql.pg_connection import PostgresCursor
from orchestrator.extensions.postgresql.pg_storage import PostgresStorage
from orchestrator.extensions.postgresql.pipelined_connection import PipelinedConnection
from orchestrator.extensions.selftest.nodes.postgres_server import run_server
from orchestrator.journal.db.database import Database, Values
from orchestrator.journal.db.store import Store
from orchestrator.journal.db.writer import (
    StorageFullError,
)
from orchestrator.journal_address import DatabaseServer

pytestmark = needs_server


def refused(db: Database) -> None:
    """A change whose job fails."""
    put(db, "refused")
    raise ValueError("no")


def end_at_commit(monkeypatch: pytest.MonkeyPatch, server: DatabaseServer, *, after: bool) -> None:
    """Let the session of the next COMMIT end before it, or after it and before its answer."""

    def end(commit: Callable[[], object]) -> None:
        if after:
            commit()
        end_sessions(server)

    at_commit(monkeypatch, end)


def at_commit(
    monkeypatch: pytest.MonkeyPatch, happens: Callable[[Callable[[], object]], None]
) -> None:
    """Let something happen in place of the next COMMIT, which it may run; the answer is lost."""
    real = PipelinedConnection.execute
    ended: list[bool] = []

    def execute(self: PipelinedConnection, query: str, values: Values = ()) -> PostgresCursor:
        if query != "COMMIT" or ended:
            return real(self, query, values)
        ended.append(True)
        happens(partial(real, self, query))
        return real(self, "SHOW server_version")

    monkeypatch.setattr(PipelinedConnection, "execute", execute)


async def test_job_that_fails_takes_no_other_along(store: Store) -> None:
    """Also those that share its commit."""
    failed: list[str] = []

    async def run(number: int) -> None:
        try:
            await (store.transact(refused) if number == 3 else store.transact(put, f"k{number}"))
        except ValueError as error:
            failed.append(str(error))

    async with anyio.create_task_group() as tasks:
        for number in range(6):
            tasks.start_soon(run, number)
    assert failed == ["no"]
    assert await store.read(keys) == ["k0", "k1", "k2", "k4", "k5"]


async def test_ended_sessions_are_made_anew(store: Store, server: DatabaseServer) -> None:
    """Neither a job nor a read is lost with one."""
    for number in range(3):
        end_sessions(server)
        await store.transact(put, f"k{number}")
        end_sessions(server)
        assert len(await store.read(keys)) == number + 1


async def test_job_whose_session_ends_within_it_is_run_again(
    store: Store, server: DatabaseServer
) -> None:
    """Its first try has left nothing."""
    tries: list[int] = []

    def work(db: Database) -> None:
        tries.append(len(tries))
        put(db, "once")
        if len(tries) == 1:
            end_sessions(server)
            put(db, "never")

    await store.transact(work)
    assert (len(tries), await store.read(keys)) == (2, ["once"])


@pytest.mark.parametrize("stored", [True, False])
async def test_commit_without_an_answer_is_looked_up(
    store: Store,
    server: DatabaseServer,
    monkeypatch: pytest.MonkeyPatch,
    *,
    stored: bool,
) -> None:
    """What it has stored is not stored again, and what it has not is."""
    tries: list[int] = []

    def work(db: Database) -> None:
        tries.append(1)
        put(db, f"k{len(tries)}")

    end_at_commit(monkeypatch, server, after=stored)
    with capture_logs() as logs:
        await store.transact(work)
    assert "commit_unanswered" in {line["event"] for line in logs}
    assert await store.read(keys) == (["k1"] if stored else ["k2"])


@needs_programs
async def test_commit_that_a_crash_of_the_server_took_is_run_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The server knows nothing of it, and gives its number to the next transaction."""
    tries: list[int] = []

    def work(db: Database) -> None:
        tries.append(1)
        put(db, f"k{len(tries)}")

    def crash(_: object) -> None:
        """Restart the server, where another client is the first to write."""
        own.crash()
        own.start()
        with psycopg.connect(own.url, autocommit=True) as session:
            session.execute("CREATE TABLE other(id int)")

    with run_server() as own:
        server = DatabaseServer(own.url, tmp_path / "journal.db")
        with closing(Store(PostgresStorage(server), retry=0.01)) as store:
            at_commit(monkeypatch, crash)
            await store.transact(work)
            assert await store.read(keys) == ["k2"]


async def test_server_that_is_away_is_waited_for(
    server: DatabaseServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`attempt` says so at once, so that nothing is acknowledged; `transact` and `read` try on."""
    with closing(Store(PostgresStorage(server), retry=0.01)) as store:
        connect, away, tries = psycopg.connect, [True], list[int]()

        def refuse(*args: object, **options: object) -> object:
            if away[0]:
                tries.append(1)
                raise psycopg.OperationalError("connection refused")
            return connect(*args, **options)  # type: ignore[arg-type]

        end_sessions(server)
        monkeypatch.setattr(psycopg, "connect", refuse)
        with pytest.raises(StorageFullError, match="connection refused"):
            await store.transact_once(put, "not yet")
        found: list[list[str]] = []
        tries.clear()

        async def look() -> None:
            found.append(await store.read(keys))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(look)
            while not tries:
                await anyio.lowlevel.checkpoint()
            tasks.start_soon(store.transact, put, "at last")
            await anyio.lowlevel.checkpoint()
            away[0] = False
        assert len(found) == 1
        assert await store.read(keys) == ["at last"]
