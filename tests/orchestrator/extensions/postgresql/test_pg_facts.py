"""What `orchestrator doctor` says of the journal's server."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from socket import gethostname

from fakes.postgresql import database_of, needs_server
from pydantic import SecretStr

from orchestrator.extension import Finding
from orchestrator.extensions.postgresql import pg_schema
from orchestrator.extensions.postgresql.extension import PostgresqlExtension
from orchestrator.extensions.postgresql.pg_connection import PostgresConnection
from orchestrator.extensions.postgresql.pg_facts import ALONE, NO_STANDBY, NOT_SAFE
from orchestrator.extensions.postgresql.pg_storage import PostgresStorage
from orchestrator.journal.db.store import Store
from orchestrator.journal_address import DatabaseServer
from orchestrator.settings import Settings


def found(home: Path, url: str) -> list[Finding]:
    settings = Settings(home=home, store=SecretStr(url))
    return list(PostgresqlExtension().list_findings(settings, None, None))


def test_nothing_is_asked_for_a_journal_in_a_file(tmp_path: Path) -> None:
    """There is no server."""
    assert list(PostgresqlExtension().list_findings(Settings(home=tmp_path), None, None)) == []


@needs_server
def test_server_without_a_standby_is_a_warning(tmp_path: Path) -> None:
    """Its version is shown, its password is not."""
    url = database_of(tmp_path)
    place, standby, nodes = found(tmp_path, url)
    assert (nodes.verdict, nodes.text) == ("ok", ALONE)
    assert f"in {DatabaseServer(url, tmp_path)}, PostgreSQL " in place.text
    assert (place.verdict, standby.verdict, standby.text) == ("ok", "warning", NO_STANDBY)


@needs_server
def test_server_that_forgets_in_a_crash_is_a_problem(tmp_path: Path) -> None:
    """It answers before anything is on its disk."""
    mark = "&" if "?" in database_of(tmp_path) else "?"
    url = f"{database_of(tmp_path)}{mark}options=-c%20synchronous_commit%3Doff"
    assert [one.text for one in found(tmp_path, url)][1:] == [NOT_SAFE, ALONE]


@needs_server
def test_daemons_that_share_the_journal_are_named(tmp_path: Path) -> None:
    """The one that works, and those that stand by."""
    server = DatabaseServer(database_of(tmp_path), tmp_path / "journal.db")
    with (
        closing(PostgresConnection(server.url)) as session,
        ThreadPoolExecutor(1) as other,
        closing(Store(PostgresStorage(server))),
    ):
        waits = other.submit(session.execute, pg_schema.WAIT_FOR_LOCK)
        text = f"{gethostname()} works, orchestrator stands by"
        while text not in [one.text for one in found(tmp_path, server.url)]:
            assert not waits.done()


def test_server_that_cannot_be_reached_is_a_problem(tmp_path: Path) -> None:
    """What to look at is said."""
    (place,) = found(tmp_path, f"postgresql://ann:4711@/j?host={tmp_path}")
    assert place.verdict == "problem"
    assert "check the server and ORCHESTRATOR_STORE" in place.text
    assert "4711" not in place.text
