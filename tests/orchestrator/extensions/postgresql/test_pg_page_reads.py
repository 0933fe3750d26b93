"""What the page reads of a journal in PostgreSQL."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import anyio.lowlevel
import psycopg
import pytest
from fakes.postgresql import needs_server
from fakes.time_limit import time_limit

from orchestrator.errors import JournalError, QueryTimeoutError
from orchestrator.extensions.postgresql import pg_page_reads
from orchestrator.extensions.postgresql.pg_page_reads import SHOWN, PostgresPageReads
from orchestrator.journal.db.database import Database
from orchestrator.journal.opening import open_store
from orchestrator.journal_address import DatabaseServer

pytestmark = needs_server
END = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND application_name = %s"
)


@pytest.fixture
def reads(server: DatabaseServer) -> Iterator[PostgresPageReads]:
    """Its queries."""
    with closing(PostgresPageReads(server, 0.25)) as reads:
        yield reads


def seven(db: Database) -> int:
    """A query."""
    return int(db.execute("SELECT 7").get)


def run(server: DatabaseServer, statement: str, *values: object) -> None:
    """Let someone else do something in the database."""
    with psycopg.connect(server.url, autocommit=True) as session:
        session.execute(statement.encode(), values or None)


def test_session_that_ends_is_lost_for_good(
    server: DatabaseServer, reads: PostgresPageReads
) -> None:
    """Its process must end, as it cannot open another one."""
    assert reads.read_now(seven) == 7
    assert not reads.lost.is_set()
    run(server, END, SHOWN)
    for _ in range(2):
        with pytest.raises(JournalError, match="cannot be read"):
            reads.read_now(seven)
        assert reads.lost.is_set()
    assert reads.read_version() == reads.read_version()


async def test_each_commit_is_counted_as_soon_as_it_is_known(
    server: DatabaseServer, reads: PostgresPageReads
) -> None:
    """A browser that sent something may ask at once whether the page has changed."""

    def write(db: Database) -> None:
        db.execute("INSERT INTO meta VALUES('page', '1') ON CONFLICT (k) DO UPDATE SET v = '2'")

    store = open_store(server)
    before = reads.read_version()
    for commits in range(1, 200):
        await store.transact(write)
        assert reads.read_version() == before + commits
    await store.transact(seven)
    assert reads.read_version() == before + commits
    store.close()


async def test_commit_long_after_a_read_is_counted(
    server: DatabaseServer, reads: PostgresPageReads, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit of a read ends with it."""
    assert reads.read_now(seven) == 7
    before = reads.read_version()
    later = SimpleNamespace(monotonic=lambda: float("inf"))
    monkeypatch.setattr(pg_page_reads, "time", later)
    with closing(open_store(server)) as store:
        await store.transact(lambda db: db.execute("INSERT INTO meta VALUES('late', '1')").get)
    assert reads.read_version() > before


async def test_end_of_the_session_is_noticed_without_a_query(
    server: DatabaseServer, reads: PostgresPageReads
) -> None:
    """No one may ask for a page for a while."""
    run(server, END, SHOWN)
    with time_limit():
        while not reads.lost.is_set():
            reads.read_version()
            await anyio.lowlevel.checkpoint()
    assert isinstance(reads.failure, JournalError)


@pytest.mark.parametrize("statement", ["DELETE FROM inbox", "CREATE TEMP TABLE kept(id bigint)"])
def test_refused_statement_leaves_the_session_usable(
    reads: PostgresPageReads, statement: str
) -> None:
    """Nothing can be written."""
    with pytest.raises(JournalError, match="cannot be read"):
        reads.read_now(lambda db: db.execute(statement))
    assert reads.read_now(seven) == 7
    assert reads.failure is None


def test_long_statement_is_cut_off_by_the_server(reads: PostgresPageReads) -> None:
    """The next one is not."""
    with pytest.raises(QueryTimeoutError):
        reads.read_now(lambda db: db.execute("SELECT pg_sleep(3600)"))
    assert reads.read_now(seven) == 7
    assert reads.failure is None


def test_many_statements_are_cut_off_as_one(reads: PostgresPageReads) -> None:
    """The page waits for all of them."""

    def endless(db: Database) -> None:
        while True:
            db.execute("SELECT pg_sleep(0.01)")

    with pytest.raises(QueryTimeoutError):
        reads.read_now(endless)
    assert reads.read_now(seven) == 7


def test_a_read_sees_one_state(server: DatabaseServer, reads: PostgresPageReads) -> None:
    """Whatever is committed meanwhile."""

    def twice(db: Database) -> tuple[int, int]:
        before = db.execute("SELECT count(*) FROM meta").get
        run(server, "INSERT INTO meta VALUES('page', '1')")
        return before, db.execute("SELECT count(*) FROM meta").get

    before, after = reads.read_now(twice)
    assert before == after
    assert reads.read_now(lambda db: db.execute("SELECT count(*) FROM meta").get) == after + 1


def test_journal_of_another_version_is_a_sentence(server: DatabaseServer) -> None:
    """The daemon of this version brings it up to date."""
    run(server, "UPDATE schema_version SET number = number - 1")
    with pytest.raises(JournalError, match="start the daemon of this version once"):
        PostgresPageReads(server, 0.25)


def test_server_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    """Without the password."""
    url = f"postgresql://ann:pass-word@/journal?host={tmp_path}"
    with pytest.raises(JournalError, match="ORCHESTRATOR_STORE") as caught:
        PostgresPageReads(DatabaseServer(url, tmp_path / "journal.db"), 0.25)
    assert "pass-word" not in str(caught.value)
