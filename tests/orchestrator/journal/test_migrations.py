"""Schema changes: once, in order, never backwards."""

from contextlib import closing
from pathlib import Path

import apsw
import pytest

from orchestrator.errors import JournalError
from orchestrator.journal.db.store import open_database
from orchestrator.journal.migrations import scripts
from orchestrator.journal.turns import pauses


def test_migrations_are_numbered_without_gaps() -> None:
    """Two developers cannot take the same number unnoticed."""
    assert sorted(scripts()) == list(range(1, len(scripts()) + 1))


def test_opening_again_changes_nothing(tmp_path: Path) -> None:
    """Every migration is applied once."""
    path = tmp_path / "journal.db"
    schemas = []
    for _ in range(2):
        db = open_database(path)
        assert db.execute("PRAGMA user_version").get == max(scripts())
        schemas.append(db.execute("SELECT name, sql FROM sqlite_schema ORDER BY name").fetchall())
        db.close()
    assert schemas[0] == schemas[1]


def test_journal_of_a_newer_version_is_refused_and_kept(tmp_path: Path) -> None:
    """The message names both ways out."""
    path = tmp_path / "journal.db"
    db = open_database(path)
    db.execute("PRAGMA user_version=999")
    db.close()
    before = path.read_bytes()
    with pytest.raises(JournalError, match=r"schema 999.*install the newer version.*backup"):
        open_database(path)
    assert path.read_bytes() == before


def test_pauses_and_who_knows_of_them_survive_their_new_table(tmp_path: Path) -> None:
    """Migration 9 copies two tables that refer to each other."""
    old = apsw.Connection(str(tmp_path / "journal.db"))
    for number in range(1, 9):
        old.execute(scripts()[number])
    old.execute("PRAGMA user_version=8")
    old.execute("INSERT INTO pause VALUES(7,'work','budget','spent',1,NULL,NULL)")
    old.execute("INSERT INTO pause_told VALUES(7,'telegram/1/7/')")
    old.close()
    with closing(open_database(tmp_path / "journal.db")) as db:
        assert db.execute("SELECT pause_id FROM pause_told JOIN pause ON id = pause_id").get == 7
        assert pauses.find(db, "work") == pauses.Pause(7, "work", "budget", "spent", 1)
        assert not db.execute("PRAGMA foreign_key_check").fetchall()
