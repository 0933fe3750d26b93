"""Connections of the command line to a journal in PostgreSQL."""

from contextlib import closing

import pytest
from fakes.postgresql import needs_server

from orchestrator.errors import AlreadyRunningError, JournalError
from orchestrator.extensions.postgresql import pg_opening
from orchestrator.extensions.postgresql.pg_connection import PostgresConnection
from orchestrator.extensions.postgresql.pg_storage import PostgresStorage
from orchestrator.journal.db.store import Store
from orchestrator.journal_address import DatabaseServer

pytestmark = needs_server


def test_what_is_written_while_reading_is_undone(server: DatabaseServer) -> None:
    """`prompt show` tries a turn out in the state that it reads."""
    with pg_opening.open_for_reading(server) as db:
        db.execute("INSERT INTO meta VALUES('tried', '1')")
        assert db.execute("SELECT v FROM meta WHERE k = 'tried'").get == "1"
    with pg_opening.open_for_reading(server) as db:
        assert db.execute("SELECT v FROM meta WHERE k = 'tried'").get is None


def test_database_without_a_journal_is_told(server: DatabaseServer) -> None:
    """None is made by reading."""
    with closing(PostgresConnection(server.url)) as db:
        db.execute("DROP TABLE schema_version")
    with (
        pytest.raises(JournalError, match=r"has schema none.*start the daemon"),
        pg_opening.open_for_reading(server),
    ):
        pass


def test_journal_that_a_daemon_has_is_only_read(server: DatabaseServer) -> None:
    """Writing beside it would break its promises."""
    with closing(Store(PostgresStorage(server))) as store:
        with pytest.raises(AlreadyRunningError, match="a daemon has this journal"):
            pg_opening.open_database(server)
        with pg_opening.open_for_reading(server) as db:
            assert db.execute("SELECT count(*) FROM turn").get == 0
        assert store.address == server
    pg_opening.open_database(server).close()
