"""Schema changes: once, in order, never backwards."""

import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from fakes.golden import TWO_TABLES, make_later_schema, restore
from fakes.journal import job, sqlite

from orchestrator.errors import JournalError
from orchestrator.journal import migrations
from orchestrator.journal.db.sqlite_storage import open_database
from orchestrator.journal.migrations import (
    FIRST,
    Schema,
    load_schema,
    migrate,
    read_changes,
)
from orchestrator.journal.turns import pauses

FOLDER = Path(migrations.__file__).parent
NEWEST = load_schema().number
TABLE = "CREATE TABLE later(n INTEGER) STRICT; INSERT INTO later VALUES(1);"
REFERENCES = (
    "SELECT t.name, r.'from' FROM sqlite_schema t, pragma_foreign_key_list(t.name) r"
    " WHERE t.type = 'table' AND r.seq = 0"
)
CHILDREN = "EXPLAIN QUERY PLAN SELECT 1 FROM {table} WHERE {column} = 'x'"
MIGRATE = """
import sys
import apsw
from orchestrator.journal.migrations import Schema, load_schema, migrate
known, change = load_schema(), sys.argv[2]
later = Schema(known.whole + change, {**known.changes, known.number + 1: change})
migrate(apsw.Connection(sys.argv[1]), later)
"""


def version(db: apsw.Connection) -> int:
    """The schema's number."""
    return int(db.execute("PRAGMA user_version").get)


def schema(db: apsw.Connection) -> list[tuple[object, ...]]:
    """The statements that made the schema."""
    return db.execute("SELECT name, sql FROM sqlite_schema ORDER BY name").fetchall()


def test_migrations_are_numbered_without_gaps() -> None:
    """Two developers cannot take the same number unnoticed."""
    files = sorted(file.name for file in FOLDER.glob("*.sql"))
    assert [file.split("_")[0] for file in files] == [
        f"{number:04}" for number in range(FIRST + 1, NEWEST + 1)
    ]


def test_only_sql_files_are_migrations(tmp_path: Path) -> None:
    """Each has the number that its name begins with."""
    for name in ("0023_more.sql", "0022_mood.sql", "notes.md", "__init__.py"):
        (tmp_path / name).write_text(f"-- {name}", "utf-8")
    assert read_changes(tmp_path) == {22: "-- 0022_mood.sql", 23: "-- 0023_more.sql"}


def test_change_that_does_not_make_what_new_journals_have_is_refused(tmp_path: Path) -> None:
    """Nothing is changed, so the version that can use the journal goes on with it."""
    later = make_later_schema(TABLE)
    other = Schema(later.whole, {**later.changes, NEWEST + 1: "CREATE TABLE latr(n INTEGER);"})
    with sqlite(tmp_path) as db:
        before = schema(db)
        with pytest.raises(JournalError, match=r"it has no later\.n"):
            migrate(db, other)
        assert (version(db), schema(db)) == (NEWEST, before)


def test_opening_again_changes_nothing(tmp_path: Path) -> None:
    """Every migration is applied once."""
    schemas = []
    for _ in range(2):
        with sqlite(tmp_path) as db:
            assert version(db) == NEWEST
            schemas.append(schema(db))
    assert schemas[0] == schemas[1]


def test_journal_gets_the_migrations_that_it_lacks_in_order(tmp_path: Path) -> None:
    """The third needs the second; applied again, either would fail."""
    change = "ALTER TABLE later ADD COLUMN more TEXT; UPDATE later SET more = 'x' || n;"
    with sqlite(tmp_path) as db:
        migrate(db, make_later_schema(TABLE))
        assert version(db) == NEWEST + 1
        for _ in range(2):
            migrate(db, make_later_schema(TABLE, change))
            assert version(db) == NEWEST + 2
            assert db.execute("SELECT n, more FROM later").fetchall() == [(1, "x1")]


def test_new_journal_gets_every_migration_at_once(tmp_path: Path) -> None:
    """Its schema is that of a journal that got them one after the other."""
    with sqlite(tmp_path) as old, closing(apsw.Connection(":memory:")) as new:
        migrate(old, make_later_schema(TABLE))
        migrate(new, make_later_schema(TABLE))
        assert schema(new) == schema(old)
        assert version(new) == version(old)


def test_migration_that_fails_leaves_the_journal_as_it_was(tmp_path: Path) -> None:
    """What it and those before it did is rolled back, and the journal can be used."""
    with sqlite(tmp_path) as db:
        before = schema(db)
        with pytest.raises(apsw.SQLError, match="no such table: missing"):
            migrate(db, make_later_schema(TABLE, "DROP TABLE inbox; DELETE FROM missing;"))
        assert (version(db), schema(db)) == (NEWEST, before)
        migrate(db, make_later_schema(TABLE))
        assert version(db) == NEWEST + 1


def test_journal_of_a_newer_version_is_refused_and_kept(tmp_path: Path) -> None:
    """The message names the ways out."""
    path = tmp_path / "journal.db"
    with sqlite(tmp_path) as db:
        migrate(db, make_later_schema(TABLE))
    before = path.read_bytes()
    expected = rf"schema {NEWEST + 1}, .* up to {NEWEST}; run the version that wrote it, .*backup"
    with pytest.raises(JournalError, match=expected):
        open_database(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("unreleased", [1, FIRST - 1])
def test_journal_from_before_the_first_release_is_refused_and_kept(
    tmp_path: Path, unreleased: int
) -> None:
    """No change leads from it to this version."""
    path = tmp_path / "journal.db"
    restore(path)
    with closing(apsw.Connection(str(path))) as db:
        db.execute(f"PRAGMA user_version={unreleased:d}")
    before = path.read_bytes()
    with pytest.raises(JournalError, match=rf"schema {unreleased}, of a version before the first"):
        open_database(path)
    assert path.read_bytes() == before


def test_row_is_removed_without_a_walk_through_those_that_may_refer_to_it(tmp_path: Path) -> None:
    """SQLite looks for them, and needs an index: many prompts were made of one part."""
    with sqlite(tmp_path) as db:
        walks = [
            f"{table}.{column}"
            for table, column in db.execute(REFERENCES).fetchall()
            for (*_, step) in db.execute(CHILDREN.format(table=table, column=column)).fetchall()
            if str(step).startswith("SCAN")
        ]
    assert walks == ["subagent_run.subagent_id"]  # few


def test_rows_of_two_tables_survive_their_replacement(tmp_path: Path) -> None:
    """A migration may copy tables that refer to each other; foreign keys are checked meanwhile."""
    with sqlite(tmp_path) as db:
        with job(db):
            db.execute("INSERT INTO pause VALUES(7,'work','budget','spent',1,NULL,NULL)")
            db.execute("INSERT INTO pause_told VALUES(7,'telegram/1/7/')")
        migrate(db, make_later_schema(TWO_TABLES))
        assert db.execute("SELECT pause_id FROM pause_told JOIN pause ON id = pause_id").get == 7
        assert pauses.find_pause(db, "work") == pauses.Pause(7, "work", "budget", "spent", 1)
        assert not db.execute("PRAGMA foreign_key_check").fetchall()
        with pytest.raises(apsw.ConstraintError):
            db.execute("INSERT INTO pause_told VALUES(8,'telegram/1/7/')")


@pytest.mark.process
@pytest.mark.parametrize("point", ["before", "after"])
def test_death_around_the_commit_of_a_migration(tmp_path: Path, point: str) -> None:
    """Killed just before it, the journal is the old one; just after it, the new one."""
    path = tmp_path / "journal.db"
    restore(path)
    with closing(apsw.Connection(str(path))) as db:
        old = version(db)
    command = [sys.executable, "-c", MIGRATE, str(path), TABLE]
    crash = {"ORCHESTRATOR_CRASH_AT": f"supervisor@migrate:{point}#1"}
    log = {"ORCHESTRATOR_CRASH_LOG": str(tmp_path / "log")}
    died = subprocess.run(command, check=False, env=os.environ | crash | log)
    assert died.returncode == -signal.SIGKILL
    with closing(apsw.Connection(str(path))) as db:
        assert db.execute("PRAGMA integrity_check").get == "ok"
        assert version(db) == (old if point == "before" else NEWEST + 1)
        migrate(db, make_later_schema(TABLE))
        assert db.execute("SELECT n FROM later").fetchall() == [(1,)]
