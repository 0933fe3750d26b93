"""All rows of a journal in another one."""

from contextlib import closing
from pathlib import Path

import apsw
import pytest
from fakes import golden
from fakes.journal import job, opened, sqlite
from fakes.lived import Life
from fakes.memory import WORK
from fakes.postgresql import database_of, needs_server
from fakes.statements import store_fact

from orchestrator.errors import JournalError
from orchestrator.extensions.memory import fact_changes
from orchestrator.extensions.postgresql import pg_schema
from orchestrator.extensions.postgresql.pg_connection import PostgresConnection
from orchestrator.extensions.postgresql.transfer import TABLES, copy_rows, count_all_rows
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.dialect import get_dialect
from orchestrator.journal.migrations import migrate
from orchestrator.journal.turns import turns


def contents(db: Database) -> dict[str, list[object]]:
    """The rows of all tables, without the order that PostgreSQL keeps in a column."""
    found: dict[str, list[object]] = {}
    for table in TABLES:
        cursor = db.execute(f"SELECT * FROM {table} ORDER BY 1, 2")  # noqa: S608 - a constant
        rows = cursor.fetchall()
        names = [] if not rows else [str(column[0]) for column in _description(db, table)]
        kept = [place for place, name in enumerate(names) if name != "rowid"]
        by_name = sorted(kept, key=lambda place: names[place])
        found[table] = [tuple(row[place] for place in by_name) for row in rows]
    # A reader knows whether its mark is a number.
    marks = found["channel_offset"]
    found["channel_offset"] = [tuple(map(str, row)) for row in marks]  # type: ignore[call-overload]
    return found


def _description(db: Database, table: str) -> tuple[tuple[object, ...], ...]:
    return db.execute(f"SELECT * FROM {table}").description  # noqa: S608 - a constant


@needs_server
@pytest.mark.parametrize("journal", golden.FILES, ids=lambda file: file.stem)
def test_journal_with_turns_in_every_state_goes_there_and_back(
    tmp_path: Path, journal: Path
) -> None:
    """Each row is the same afterwards, and what comes next has an id of its own."""
    golden.restore(tmp_path / "journal.db", journal)
    with sqlite(tmp_path) as source:
        with job(source):
            get_dialect(source).drop_earlier_index(source)  # which the copy has not
        before = contents(source)
        with closing(PostgresConnection(database_of(tmp_path / "server"))) as server:
            server.execute("BEGIN")
            copied = copy_rows(source, server)
            pg_schema.advance_id_sequences(server)
            server.execute("COMMIT")
            assert copied.rows == sum(len(rows) for rows in before.values())
            with closing(apsw.Connection(":memory:")) as back:
                migrate(back)
                copy_rows(server, back)
                assert contents(back) == before
            with job(server):
                turns.boot(server, 10)
            highest = server.execute("SELECT max(id) FROM transition").get
    assert highest >= max((row[1] for row in before["transition"]), default=0)  # type: ignore[index]


@needs_server
def test_journal_goes_on_after_it_was_moved(tmp_path: Path) -> None:
    """With turns, facts and tasks whose ids follow those that came along."""
    with sqlite(tmp_path) as source:
        with job(source):
            turns.boot(source, 0)
        Life(source, "work", "4711", "zebra").live()
        with job(source):
            gone = store_fact(source, WORK, "The cow is called Moo").id
            fact_changes.forget_fact(source, WORK, gone, "operator", 9, for_good=True)
        with closing(PostgresConnection(database_of(tmp_path / "server"))) as server:
            with job(server):
                copy_rows(source, server)
                pg_schema.advance_id_sequences(server)
                assert store_fact(server, WORK, "The cow is called Mia").id == gone + 1
            Life(server, "home", "4712", "otter").live()
            assert server.execute("SELECT count(DISTINCT agent_id) FROM turn").get == 2


def test_journal_that_has_rows_takes_no_other(tmp_path: Path) -> None:
    """Two histories cannot be one."""
    with opened(tmp_path) as db, closing(apsw.Connection(":memory:")) as other:
        migrate(other)
        with job(db):
            turns.boot(db, 0)
        Life(db, "work", "4711", "zebra").live()
        copy_rows(db, other)
        known = count_all_rows(other)
        with pytest.raises(JournalError, match="the target already has a journal"):
            copy_rows(db, other)
        assert count_all_rows(other) == known
