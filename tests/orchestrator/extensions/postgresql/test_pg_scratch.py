"""Databases for the journals of the self-test, which leave nothing at the server."""

from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from fakes.postgresql import SERVER, needs_server

from orchestrator.errors import ConfigError
from orchestrator.extensions.postgresql.pg_scratch import ScratchDatabases
from orchestrator.journal import opening
from orchestrator.journal_address import DatabaseServer

pytestmark = needs_server
NAMES = "SELECT count(*) FROM pg_database WHERE datname = %s"


def there(server: DatabaseServer) -> int:
    """How many databases have the name of one: it or none."""
    with psycopg.connect(SERVER, autocommit=True) as session:
        name = server.url.partition("?")[0].rpartition("/")[2]
        (count,) = session.execute(NAMES, (name,)).fetchone() or (0,)
    return int(count)


def test_each_home_has_an_empty_journal_until_it_is_removed(tmp_path: Path) -> None:
    """What one daemon stores the next one of another home does not see."""
    with ScratchDatabases(SERVER) as databases:
        one, two = (
            databases.make_journal(tmp_path / "1-0"),
            databases.make_journal(tmp_path / "2-0"),
        )
        with opening.open_for_writing(one) as db:
            db.execute("INSERT INTO meta VALUES('k', 'v')")
        with opening.open_for_reading(one) as first, opening.open_for_reading(two) as second:
            assert [db.execute("SELECT count(*) FROM meta").get for db in (first, second)] == [1, 0]
        databases.remove_journal(tmp_path / "1-0")
        assert (there(one), there(two)) == (0, 1)
    assert there(two) == 0


def test_sessions_of_one_home_are_ended(tmp_path: Path) -> None:
    """Those of other homes go on."""
    with ScratchDatabases(SERVER) as databases:
        one, two = (
            databases.make_journal(tmp_path / "1-0"),
            databases.make_journal(tmp_path / "2-0"),
        )
        with closing(opening.open_journal(one)), closing(opening.open_journal(two)) as other:
            assert len(databases.list_sessions(tmp_path / "1-0")) == 1
            assert databases.end_sessions(tmp_path / "1-0") == 1
            assert other.execute("SELECT 1").get == 1


def test_server_that_makes_no_database_is_told() -> None:
    """Before anything is run."""
    with pytest.raises(ConfigError, match="no database can be made there"):
        ScratchDatabases("postgresql://127.0.0.1:1/x").__enter__()
