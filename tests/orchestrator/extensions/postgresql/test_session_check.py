"""A start where a session's lock excludes no other session."""

from contextlib import closing
from functools import partial
from pathlib import Path

import psycopg
import pytest
from fakes.pg_bouncer import needs_bouncer, pool
from fakes.postgresql import LOCKS, database_of, needs_server

from orchestrator.errors import JournalError
from orchestrator.extensions.postgresql.pg_connection import PostgresConnection
from orchestrator.extensions.postgresql.pg_opening import open_database
from orchestrator.extensions.postgresql.pg_storage import PostgresStorage
from orchestrator.extensions.postgresql.session_check import require_session_lock
from orchestrator.journal_address import DatabaseServer

pytestmark = needs_server
# A server whose locks are given to everyone, as CockroachDB's were.
STUB = """CREATE FUNCTION public.pg_try_advisory_lock(int, int) RETURNS boolean
  LANGUAGE sql RETURN true;
ALTER DATABASE {name} SET search_path = public, pg_catalog"""


def server_at(address: str, folder: Path) -> DatabaseServer:
    """The journal there, of a home."""
    return DatabaseServer(address, folder / "journal.db")


def count_locks(address: str) -> int:
    """How many locks the sessions of a database hold."""
    with psycopg.connect(address) as session:
        (count,) = session.execute(f"SELECT count(*) {LOCKS}").fetchone() or (0,)
    return int(count)


@needs_bouncer
@pytest.mark.parametrize("sessions", [1, 2, 20])
def test_daemon_does_not_start_behind_a_pooler_by_transaction(
    tmp_path: Path, sessions: int
) -> None:
    """Its statements may reach several sessions, one of which keeps the lock."""
    with pool(database_of(tmp_path), "transaction", sessions) as address:
        for _ in range(3):  # also with what the daemons before have left
            with pytest.raises(JournalError, match="pool_mode = session"):
                PostgresStorage(server_at(address, tmp_path), away=0)
        with pytest.raises(JournalError, match="pool_mode = session"):
            open_database(server_at(address, tmp_path))


@needs_bouncer
def test_used_pooler_by_transaction_is_found_as_well(tmp_path: Path) -> None:
    """It has several free sessions then, and gives a statement to any of them."""
    with pool(database_of(tmp_path), "transaction") as address:
        others = [psycopg.connect(address) for _ in range(3)]
        for other in others:  # each is in a transaction, so that each has a session
            other.execute("SELECT 1")
        for other in others:
            other.close()
        with pytest.raises(JournalError, match="pool_mode = session"):
            PostgresStorage(server_at(address, tmp_path), away=0)


@needs_bouncer
def test_daemon_starts_behind_a_pooler_by_session(tmp_path: Path) -> None:
    """As without one."""
    with pool(database_of(tmp_path), "session") as address:
        PostgresStorage(server_at(address, tmp_path)).close(None)


@pytest.fixture
def stub(tmp_path: Path) -> str:
    """A database whose locks lock nothing."""
    address = database_of(tmp_path)
    with psycopg.connect(address, autocommit=True) as session:
        name = session.info.dbname
        for statement in STUB.format(name=name).split(";"):
            session.execute(statement.encode())
    return address


def test_server_whose_locks_lock_nothing_is_refused(stub: str, tmp_path: Path) -> None:
    """By the daemon, before it takes the journal."""
    with pytest.raises(JournalError, match="a second session gets a lock"):
        PostgresStorage(server_at(stub, tmp_path))


def test_check_leaves_no_lock(tmp_path: Path) -> None:
    """Nor does it need one that a daemon holds."""
    address = database_of(tmp_path)
    with closing(PostgresConnection(address)) as db:
        require_session_lock(db, partial(PostgresConnection, address), "here")
        assert count_locks(address) == 0
