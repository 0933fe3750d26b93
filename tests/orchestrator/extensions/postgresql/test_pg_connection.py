"""A session of PostgreSQL with the members that the journal's queries use."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from fakes.postgresql import database_of, needs_server
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.extensions.postgresql.pg_connection import PostgresConnection
from orchestrator.journal.db.database import AbortedError

pytestmark = needs_server


@pytest.fixture
def db(tmp_path: Path) -> Iterator[PostgresConnection]:
    """A session with an open transaction."""
    with closing(PostgresConnection(database_of(tmp_path))) as opened:
        opened.execute("BEGIN")
        yield opened


def test_values_come_back_as_from_sqlite(db: PostgresConnection) -> None:
    """Truth values are numbers, sums are whole, NULL is None, bytes are bytes."""
    row = db.execute("SELECT ?, ?, ?, ?, ?", (True, 2**40, "tea", None, b"\0\xff")).fetchone()
    assert row == (1, 2**40, "tea", None, b"\0\xff")
    numbers = "SELECT sum(x), avg(x) FROM (VALUES (1), (2)) AS t(x)"
    assert db.execute(numbers).fetchone() == (3, 1.5)
    assert type(db.execute("SELECT sum(x) FROM (VALUES (1)) AS t(x)").get) is int


def test_rows_have_the_least_structure(db: PostgresConnection) -> None:
    """``get`` is a value, a row, a list of either, or None."""
    db.executemany("INSERT INTO meta VALUES(?,?)", [("a", "1"), ("b", "2")])
    assert db.execute("SELECT v FROM meta WHERE k = 'a'").get == "1"
    assert db.execute("SELECT k, v FROM meta WHERE k = 'a'").get == ("a", "1")
    assert db.execute("SELECT k FROM meta ORDER BY k").get == ["a", "b"]
    assert db.execute("SELECT k FROM meta WHERE k = 'c'").get is None
    assert list(db.execute("SELECT k, v FROM meta ORDER BY k")) == [("a", "1"), ("b", "2")]
    (name, *_), _ = db.execute("SELECT k, v FROM meta").description
    assert name == "k"


def test_changes_are_those_of_the_last_write(db: PostgresConnection) -> None:
    """A query in between does not count; what all have written is added up."""
    db.executemany("INSERT INTO meta VALUES(?,?)", [("a", "1"), ("b", "2")])
    db.execute("UPDATE meta SET v = '3' WHERE k = 'a'")
    db.execute("SELECT * FROM meta")
    assert (db.changes(), db.total_changes()) == (1, 3)
    db.execute("INSERT INTO meta VALUES('a', '4') ON CONFLICT DO NOTHING")
    assert (db.changes(), db.total_changes()) == (0, 3)


@given(text=st.text())
def test_every_text_is_kept_but_for_nul(tmp_path: Path, text: str) -> None:
    """PostgreSQL has no NUL in a text: its symbol stands there instead."""
    with closing(PostgresConnection(database_of(tmp_path))) as db:
        assert db.execute("SELECT ?", (text,)).get == text.replace("\0", "␀")


def test_nul_in_json_is_shown_as_well(db: PostgresConnection) -> None:
    """An escaped one is a NUL for the functions that read JSON; a backslash before it is not."""
    body = r'{"role": "user", "content": "a\u0000b \\u0000 c"}'
    stored = db.execute("SELECT ?", (body,)).get
    assert db.execute("SELECT CAST(? AS TEXT) ->> 'content'", (stored,)).get == "a␀b \\u0000 c"


def test_refused_statement_ends_no_session(db: PostgresConnection) -> None:
    """Its part of the transaction is rolled back."""
    with pytest.raises(psycopg.errors.UndefinedTable), db:
        db.execute("SELECT * FROM nothing")
    assert db.execute("SELECT 1").get == 1
    assert (db.closed, db.in_transaction) == (False, True)


def test_row_that_is_too_large_is_no_fault_of_the_server(db: PostgresConnection) -> None:
    """It would be refused again and again."""
    db.execute("CREATE TEMP TABLE word(w text PRIMARY KEY)")
    word = "".join(chr(0x4E00 + number) for number in range(9000))
    with pytest.raises(psycopg.errors.ProgramLimitExceeded), db:
        db.execute("INSERT INTO word VALUES(?)", (word,))
    assert db.execute("SELECT 1").get == 1


def test_server_that_takes_no_writes_for_now_is_one_that_is_away(db: PostgresConnection) -> None:
    """As a full disk makes it at some providers; the transaction is run again later."""
    db.execute("ROLLBACK")
    db.execute("SET default_transaction_read_only = on")
    with pytest.raises(AbortedError):
        db.execute("INSERT INTO meta VALUES('a', '1')")


def test_ended_session_aborts_what_it_did(db: PostgresConnection, tmp_path: Path) -> None:
    """Whatever comes next fails in the same way."""
    number = db.execute("SELECT pg_backend_pid()").get
    with closing(PostgresConnection(database_of(tmp_path))) as other:
        other.execute("SELECT pg_terminate_backend(CAST(? AS INTEGER))", (number,))
    for _ in range(2):
        with pytest.raises(AbortedError):
            db.execute("SELECT 1")
    assert db.closed
