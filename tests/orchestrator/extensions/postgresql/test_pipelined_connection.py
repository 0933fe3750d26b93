"""A session whose statements are answered together."""

from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import psycopg
import pytest
from fakes.postgresql import database_of, needs_server

from orchestrator.extensions.postgresql import pipelined_connection
from orchestrator.extensions.postgresql.pg_connection import PostgresConnection
from orchestrator.extensions.postgresql.pipelined_connection import PipelinedConnection
from orchestrator.journal.db.database import (
    AbortedError,
    ask_ahead,
    require_change,
    roll_back_on_failure,
)
from orchestrator.journal.db.store import FencedError

pytestmark = needs_server
PUT = "INSERT INTO meta VALUES(?,?)"
KEYS = "SELECT k FROM meta ORDER BY k"
PLANS = "SELECT count(*) FROM pg_prepared_statements"
REFUSED = psycopg.errors.UniqueViolation


@pytest.fixture
def db(tmp_path: Path) -> Iterator[PipelinedConnection]:
    """A session with an open transaction."""
    with closing(PipelinedConnection(database_of(tmp_path))) as opened:
        opened.execute("BEGIN")
        yield opened


@pytest.fixture
def other(tmp_path: Path) -> Iterator[PostgresConnection]:
    """Another session of the same database."""
    with closing(PostgresConnection(database_of(tmp_path))) as opened:
        yield opened


def test_statements_are_answered_together(db: PipelinedConnection) -> None:
    """The first look at a result waits for those before it as well; COMMIT waits once more."""
    waits = db.waits
    db.execute("SAVEPOINT job")
    db.execute(PUT, ("a", "1"))
    db.execute(PUT, ("b", "2"))
    found = db.execute(KEYS)
    assert db.waits == waits
    assert found.get == ["a", "b"]
    db.execute("RELEASE job")
    db.execute("UPDATE meta SET v = '3'")
    db.execute("COMMIT")
    assert db.waits == waits + 2


def test_values_and_rows_are_those_of_every_session(db: PipelinedConnection) -> None:
    """Truth values are numbers, sums are whole, NULL is None, bytes are bytes, NUL is shown."""
    values = (True, 2**40, "t\0a", None, b"\0\xff", 0.5)
    row = db.execute("SELECT ?, ?, ?, ?, ?, ?", values).fetchone()
    assert row == (1, 2**40, "t␀a", None, b"\0\xff", 0.5)
    numbers = db.execute("SELECT x, sum(x) FROM (VALUES (1), (2)) AS t(x) GROUP BY x ORDER BY x")
    assert [name for name, *_ in numbers.description] == ["x", "sum"]
    assert (numbers.fetchone(), numbers.fetchall(), numbers.fetchone()) == ((1, 1), [(2, 2)], None)
    assert db.execute(PUT, ("a", "1")).fetchall() == []
    assert db.execute("SELECT k FROM meta WHERE k = 'b'").get is None


def test_changes_are_those_of_the_last_write(db: PipelinedConnection) -> None:
    """Several rows of one statement count together; a query does not count."""
    db.executemany(PUT, [("a", "1"), ("b", "2")])
    db.execute(KEYS)
    assert db.changes() == 2
    assert db.executemany(PUT, []).get is None
    db.execute("UPDATE meta SET v = '3' WHERE k = 'a'")
    assert (db.changes(), db.total_changes()) == (1, 3)
    db.execute(f"{PUT} ON CONFLICT DO NOTHING", ("a", "1"))
    assert (db.changes(), db.total_changes()) == (0, 3)


def test_error_is_raised_where_the_answers_are_waited_for(db: PipelinedConnection) -> None:
    """Statements behind it are skipped; undoing them makes the session as good as before."""
    db.execute("SAVEPOINT job")
    db.execute(PUT, ("a", "1"))
    first, second = db.execute(PUT, ("a", "2")), db.execute("SELECT v FROM meta WHERE k = ?", "b")
    for answer in (first, second):
        with pytest.raises(REFUSED):
            answer.fetchall()
    db.execute("ROLLBACK TO job")
    db.execute(PUT, ("b", "3"))
    assert db.execute("SELECT v FROM meta WHERE k = ?", "b").get == "3"
    assert db.in_transaction


def test_job_that_fails_by_itself_hides_no_error_of_another(db: PipelinedConnection) -> None:
    """What it sent and did not wait for is undone with it."""
    db.execute("SAVEPOINT job")
    for _ in range(2):
        db.execute(PUT, ("a", "1"))
    db.execute("ROLLBACK TO job")
    db.execute("RELEASE job")
    db.execute(PUT, ("b", "1"))
    db.execute("COMMIT")
    assert db.execute(KEYS).get == "b"


def test_part_that_fails_is_undone_alone(db: PipelinedConnection) -> None:
    """Although its error comes when it ends."""
    db.execute(PUT, ("a", "1"))
    with roll_back_on_failure(db):
        for _ in range(2):
            db.execute(PUT, ("b", "1"))
    with pytest.raises(REFUSED), db:
        db.execute(PUT, ("a", "2"))
    assert db.execute(KEYS).get == "a"


def test_error_before_a_part_is_not_swallowed_with_it(db: PipelinedConnection) -> None:
    """The part does not begin."""
    for _ in range(2):
        db.execute(PUT, ("a", "1"))
    with pytest.raises(REFUSED), roll_back_on_failure(db):
        raise AssertionError


def test_refused_commit_leaves_a_transaction_to_be_undone(
    db: PipelinedConnection, other: PostgresConnection
) -> None:
    """As what was sent with it was refused, COMMIT was skipped."""
    db.execute(PUT, ("a", "1"))
    db.execute(PUT, ("a", "2"))
    with pytest.raises(REFUSED):
        db.execute("COMMIT")
    assert db.in_transaction
    db.execute("ROLLBACK")
    assert not db.in_transaction
    assert db.execute(KEYS).get is None
    assert other.execute(KEYS).get is None


def test_rollback_is_sent_without_a_wait(
    db: PipelinedConnection, other: PostgresConnection
) -> None:
    """The server ends the transaction, although no later statement asks for the answer."""
    db.execute("SELECT pg_advisory_xact_lock(1)").fetchall()
    waits = db.waits
    db.execute("ROLLBACK")
    assert db.waits == waits
    other.execute("SELECT pg_advisory_lock(1)")
    assert not db.in_transaction


def test_statement_outside_a_transaction_is_done_when_it_returns(
    db: PipelinedConnection, other: PostgresConnection
) -> None:
    """With its error, if any; a setting stays."""
    db.execute("ROLLBACK")
    db.execute(PUT, ("a", "1"))
    assert other.execute(KEYS).get == "a"
    with pytest.raises(REFUSED):
        db.execute(PUT, ("a", "1"))
    with pytest.raises(psycopg.errors.UndefinedTable):
        db.execute("ALTER TABLE nothing ADD COLUMN x int")
    db.execute("SET lock_timeout = 5")
    assert db.execute("SHOW lock_timeout").get == "5ms"


def test_plans_are_generic_also_after_an_undone_transaction(db: PipelinedConnection) -> None:
    """The server plans no statement again for its values."""
    db.execute("ROLLBACK")
    assert db.execute("SHOW plan_cache_mode").get == "force_generic_plan"


def test_statement_has_one_plan_for_null_and_a_value(db: PipelinedConnection) -> None:
    """One for another type takes its place, and the server drops it."""
    for value in (1, None, 2, None):
        assert db.execute("SELECT CAST(? AS TEXT)", (value,)).get == (value and str(value))
    assert db.execute(PLANS).get == 2  # with this one
    assert db.execute("SELECT CAST(? AS TEXT)", ("tea",)).get == "tea"
    assert db.execute(PLANS).get == 2


def test_server_keeps_the_plans_that_were_used_last(
    db: PipelinedConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their number is bounded."""
    monkeypatch.setattr(pipelined_connection, "PREPARED", 5)
    for number in [*range(30), 26]:
        assert db.execute(f"SELECT {number}").get == number
    kept = "SELECT statement FROM pg_prepared_statements ORDER BY prepare_time"
    assert db.execute(kept).get == ["SELECT 26", "SELECT 27", "SELECT 28", "SELECT 29", kept]


def test_plan_that_was_skipped_is_made_at_the_next_use(db: PipelinedConnection) -> None:
    """The server makes none behind a statement that failed."""
    for _ in range(2):
        db.execute("SAVEPOINT job")
        with suppress(REFUSED):
            for _ in range(2):
                db.execute(PUT, ("a", "1"))
            db.execute(KEYS).fetchall()
        db.execute("ROLLBACK TO job")
    assert db.execute(KEYS).get is None


def test_statements_that_wait_for_answers_are_limited(
    db: PipelinedConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both are in memory; large ones cannot hold up each other."""
    monkeypatch.setattr(pipelined_connection, "MAX_PENDING", 8)
    waits = db.waits
    for number in range(40):
        db.execute(PUT, (str(number), "x" * 1_000_000))
        db.execute("SELECT v FROM meta WHERE k = ?", (str(number),))
    assert db.waits - waits >= 10
    assert db.execute("SELECT count(*) FROM meta").get == 40


def test_queries_asked_ahead_are_answered_together(db: PipelinedConnection) -> None:
    """Each of them once; another query between them changes nothing."""
    values = "SELECT v FROM meta WHERE k = ?"
    db.execute(PUT, ("a", "1"))
    waits = db.waits
    ask_ahead(db, (values, ("a",)), (KEYS, ()))
    assert db.execute(values, ("b",)).get is None
    assert (db.execute(KEYS).get, db.execute(values, ("a",)).get) == ("a", "1")
    assert db.waits == waits + 1
    assert db.execute(KEYS).get == "a"
    assert db.waits == waits + 2


@pytest.mark.parametrize("write", ["INSERT", "several", "ROLLBACK", "COMMIT"])
def test_answer_from_before_a_write_is_not_used(db: PipelinedConnection, write: str) -> None:
    """The query is asked again."""
    db.execute("SAVEPOINT job")
    db.execute(PUT, ("a", "1"))
    ask_ahead(db, (KEYS, ()))
    if write == "INSERT":
        db.execute(PUT, ("b", "2"))
    elif write == "several":
        db.executemany(PUT, [("b", "2")])
    elif write == "ROLLBACK":
        db.execute("ROLLBACK TO job")
    else:
        db.execute("COMMIT")
        db.execute("DELETE FROM meta")
    expected = {"ROLLBACK": None, "COMMIT": None}.get(write, ["a", "b"])
    assert db.execute(KEYS).get == expected


def test_change_that_is_required_fails_the_next_call_that_waits(db: PipelinedConnection) -> None:
    """Before the statements behind it count; a row that was changed satisfies it."""
    db.execute(PUT, ("a", "1"))
    change = "UPDATE meta SET v = '2' WHERE k = ?"
    db.execute(change, ("a",))
    require_change(db, FencedError("not there"))
    assert db.execute(KEYS).get == "a"
    db.execute("SAVEPOINT job")
    db.execute(change, ("b",))
    require_change(db, FencedError("gone"))
    db.execute(PUT, ("a", "1"))  # refused as well
    with pytest.raises(FencedError, match="gone"):
        db.changes()
    db.execute("ROLLBACK TO job")
    assert db.execute("SELECT v FROM meta").get == "2"
    db.execute(change, ("b",))
    require_change(db, FencedError("gone"))
    db.execute("ROLLBACK")
    assert not db.in_transaction


def test_required_change_outside_a_transaction_is_told_at_once(db: PipelinedConnection) -> None:
    """As by a session that answers each statement."""
    db.execute("ROLLBACK")
    db.execute("UPDATE meta SET v = '2'")
    with pytest.raises(FencedError):
        require_change(db, FencedError("gone"))


def test_script_of_statements_runs_inside_the_transaction(db: PipelinedConnection) -> None:
    """As a change of the schema does, between other statements."""
    db.execute(PUT, ("a", "1"))
    db.execute_script("CREATE TABLE tea(x int); INSERT INTO tea VALUES(1)")
    assert db.execute("SELECT x, k FROM tea, meta").get == (1, "a")
    db.execute("ROLLBACK")
    assert db.execute("SELECT to_regclass('tea')").get is None


def test_ended_session_aborts_what_was_not_answered(
    db: PipelinedConnection, other: PostgresConnection
) -> None:
    """With the server's reason; whatever comes next fails in the same way."""
    number = db.execute("SELECT pg_backend_pid()").get
    answer = db.execute(KEYS)
    other.execute("SELECT pg_terminate_backend(CAST(? AS INTEGER), 5000)", (number,))
    with pytest.raises(AbortedError, match="administrator command"):
        answer.fetchall()
    assert db.closed
    with pytest.raises(AbortedError):
        answer.fetchall()
    for statement in (KEYS, "COMMIT", "ROLLBACK"):
        with pytest.raises(AbortedError):
            db.execute(statement)
