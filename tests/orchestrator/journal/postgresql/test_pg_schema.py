"""The journal's schema in a database."""

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from fakes.journal import sqlite
from fakes.postgresql import database_of, needs_server

from orchestrator.errors import JournalError
from orchestrator.journal import migrations
from orchestrator.journal.postgresql import pg_schema
from orchestrator.journal.postgresql.pg_connection import PostgresConnection
from orchestrator.journal.transfer import TABLES

COLUMNS = (
    "SELECT table_name || '.' || column_name FROM information_schema.columns"
    " WHERE table_schema = current_schema() AND table_name IN (SELECT table_name FROM"
    " information_schema.tables WHERE table_schema = current_schema() AND table_type LIKE 'BASE%')"
)
OWN = {
    *("schema_version.number", "schema_version.moved", "last_commit.mark"),
    *("turn.rowid", "web_session.rowid"),
    *(f"config_version.{name}" for name in ("number", "digest", "pushed_at", "host")),
    *(f"config_file.{name}" for name in ("version", "name", "executable", "data")),
}


@pytest.fixture
def db(tmp_path: Path) -> Iterator[PostgresConnection]:
    """A database with the schema."""
    with closing(PostgresConnection(database_of(tmp_path))) as opened:
        yield opened


def test_number_is_that_of_the_newest_change_for_sqlite() -> None:
    """A change for one database has to be made for both."""
    assert max(migrations.scripts()) == max(pg_schema.changes())


@needs_server
def test_tables_have_the_columns_that_sqlite_has(db: PostgresConnection, tmp_path: Path) -> None:
    """But for the order of rows, which SQLite has in every table."""
    with sqlite(tmp_path) as file:
        rows = file.execute(
            "SELECT t.name || '.' || c.name FROM sqlite_schema t, pragma_table_info(t.name) c"
            " WHERE t.type = 'table'"
        ).fetchall()
    names = [str(name) for (name,) in rows]
    there = {name for name in names if not re.search(r"_(words|grams)[._]|sqlite_", name)}
    here = {name for (name,) in db.execute(COLUMNS)}
    assert here - OWN == there


@needs_server
def test_indexes_are_those_of_sqlite(db: PostgresConnection, tmp_path: Path) -> None:
    """Their names, of which each says what it is for."""
    with sqlite(tmp_path) as file:
        there = {
            name
            for (name,) in file.execute("SELECT name FROM sqlite_schema WHERE type = 'index'")
            if not name.startswith("sqlite_")
        }
    sql = "SELECT indexname FROM pg_indexes WHERE schemaname = current_schema()"
    assert there <= {name for (name,) in db.execute(sql)}


@needs_server
def test_schema_of_a_newer_version_is_refused_and_the_same_taken(db: PostgresConnection) -> None:
    """The message says what to do."""
    pg_schema.bring_up(db, "here")
    db.execute("UPDATE schema_version SET number = 9999")
    with pytest.raises(JournalError, match="schema 9999, this version reads schemas up to"):
        pg_schema.bring_up(db, "here")


@needs_server
def test_newer_version_makes_the_changes_that_are_missing(db: PostgresConnection) -> None:
    """All or none; what is stored stays."""
    db.execute("UPDATE last_commit SET mark = 'kept'")
    first = max(pg_schema.changes())
    newer = {
        **pg_schema.changes(),
        first + 1: "ALTER TABLE turn ADD COLUMN mood text NOT NULL DEFAULT 'calm';",
        first + 2: "CREATE INDEX turn_by_mood ON turn(mood);",
    }
    broken = {**newer, first + 2: "CREATE INDEX turn_by_mood ON turn(moood);"}
    with pytest.raises(psycopg.Error):
        pg_schema.bring_up(db, "here", broken)
    db.execute("ROLLBACK")
    assert pg_schema.number(db) == first
    assert "turn.mood" not in {name for (name,) in db.execute(COLUMNS)}
    pg_schema.bring_up(db, "here", newer)
    assert pg_schema.number(db) == first + 2
    assert "turn.mood" in {name for (name,) in db.execute(COLUMNS)}
    assert db.execute("SELECT mark FROM last_commit").get == "kept"


@needs_server
def test_database_of_another_program_is_refused(db: PostgresConnection) -> None:
    """Its tables are not taken for ours."""
    db.execute("DROP TABLE schema_version")
    with pytest.raises(JournalError, match="another program has tables there"):
        pg_schema.bring_up(db, "here")


@needs_server
def test_journal_that_was_moved_away_is_not_used_again(db: PostgresConnection) -> None:
    """Two journals of the same chats would answer twice."""
    pg_schema.leave(db)
    with pytest.raises(JournalError, match="moved back to a file"):
        pg_schema.bring_up(db, "here")


def test_schema_names_every_table_that_is_moved() -> None:
    """`orchestrator migrate` copies what its list has."""
    text = "".join(pg_schema.changes().values())
    assert set(re.findall(r"CREATE TABLE (\w+)", text)) == set(TABLES)
