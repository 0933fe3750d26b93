"""Versions of the configuration in a database: what is stored, and what a machine asks for."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from fakes.postgresql import database_of, needs_server

from orchestrator.errors import JournalError
from orchestrator.extensions.postgresql import pg_schema
from orchestrator.extensions.postgresql.pg_connection import PostgresConnection
from orchestrator.extensions.postgresql.pg_opening import open_beside_daemon
from orchestrator.extensions.postgresql.shared_config import pushed_config
from orchestrator.extensions.postgresql.shared_config.pushed_config import PushedFile
from orchestrator.journal.db.database import Database
from orchestrator.journal.opening import open_for_reading, open_journal
from orchestrator.journal_address import DatabaseServer

pytestmark = needs_server
A = PushedFile("agents.json", executable=False, data=b"{}")
RUN = PushedFile("skills/a/run", executable=True, data=bytes(range(256)))


@pytest.fixture
def server(tmp_path: Path) -> DatabaseServer:
    """A journal to which nothing was pushed."""
    return DatabaseServer(database_of(tmp_path), tmp_path / "journal.db")


@pytest.fixture
def db(server: DatabaseServer) -> Iterator[Database]:
    """A transaction in it."""
    with open_beside_daemon(server) as opened:
        yield opened


def test_files_come_back_as_they_were_pushed(db: Database) -> None:
    """With all bytes."""
    assert pushed_config.find_newest_version(db) is None
    pushed, new = pushed_config.store_version(db, [RUN, A], "here", 17)
    assert (new, pushed.number, pushed.at, pushed.host) == (True, 1, 17, "here")
    assert pushed_config.find_newest_version(db) == pushed_config.find_version(db, 1) == pushed
    assert pushed_config.list_version_files(db, 1) == (A, RUN)


def test_same_files_are_no_new_version(db: Database) -> None:
    """In any order; a mode, a name and a byte make another one."""
    pushed_config.store_version(db, [RUN, A], "here", 1)
    last, new = pushed_config.store_version(db, [A, RUN], "there", 2)
    assert (last.number, last.host, new) == (1, "here", False)
    for number, other in enumerate(
        (A._replace(executable=True), A._replace(name="agents.jso"), A._replace(data=b"{}}")), 2
    ):
        assert pushed_config.store_version(db, [other, RUN], "here", 3)[0].number == number
    assert pushed_config.store_version(db, [A, RUN], "here", 4)[0].number == 5


def test_old_versions_are_forgotten_but_for_their_facts(db: Database) -> None:
    """The newest ten have their files."""
    for number in range(12):
        pushed_config.store_version(db, [A._replace(data=b"%d" % number)], "here", number)
    kept = [number for number in range(1, 13) if pushed_config.list_version_files(db, number)]
    assert kept == list(range(3, 13))
    assert pushed_config.find_version(db, 1) is not None


def test_machine_gets_files_only_of_a_version_that_it_does_not_have(db: Database) -> None:
    """Also if the number is the same, as after a restore of the database."""
    assert pushed_config.load_newer_files(db, 0, "") == (None, ())
    pushed, _ = pushed_config.store_version(db, [A], "here", 1)
    assert pushed_config.load_newer_files(db, 0, "") == (pushed, (A,))
    assert pushed_config.load_newer_files(db, 1, pushed.digest) == (pushed, ())
    assert pushed_config.load_newer_files(db, 1, "other") == (pushed, (A,))


def test_push_needs_no_lock_and_an_error_stores_nothing(server: DatabaseServer) -> None:
    """A daemon may have the journal."""
    with closing(open_journal(server)):
        with pytest.raises(JournalError), open_beside_daemon(server) as db:
            _push_and_fail(db)
        with open_for_reading(server) as db:
            assert pushed_config.find_newest_version(db) is None
        with open_beside_daemon(server) as db:
            pushed_config.store_version(db, [A], "here", 1)
    with open_for_reading(server) as db:
        assert pushed_config.find_newest_version(db) is not None


def _push_and_fail(db: Database) -> None:
    pushed_config.store_version(db, [A], "here", 1)
    raise JournalError("it ends")


def test_journal_that_is_not_used_takes_no_push(server: DatabaseServer) -> None:
    """It was moved away; and a session that ends is told with what to do."""
    with pytest.raises(JournalError, match="repeat the command"), open_beside_daemon(server) as db:
        db.execute("SELECT pg_terminate_backend(pg_backend_pid())")
    with closing(PostgresConnection(server.url)) as own:
        pg_schema.mark_moved_away(own)
    with pytest.raises(JournalError, match="moved back to a file"), open_beside_daemon(server):
        pass
