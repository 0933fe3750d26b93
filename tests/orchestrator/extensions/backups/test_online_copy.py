"""A copy of a journal that is in use."""

from contextlib import closing
from pathlib import Path

import apsw
import pytest
from fakes.golden import restore

from orchestrator.errors import JournalError
from orchestrator.extensions.backups.online_copy import copy_journal
from orchestrator.journal.db.sqlite_storage import open_database


def test_copy_has_what_was_committed_and_nothing_else(tmp_path: Path) -> None:
    """Also what is in the write-ahead log alone; a writer in the middle of its work goes on."""
    restore(tmp_path / "journal.db")
    with closing(open_database(tmp_path / "journal.db")) as db:
        db.execute("UPDATE turn SET agent_id = 'committed'")
        db.execute("BEGIN IMMEDIATE")
        db.execute("UPDATE turn SET agent_id = 'later'")
        schema = copy_journal(tmp_path / "journal.db", tmp_path / "copy.db")
        db.execute("COMMIT")
        assert schema == db.execute("PRAGMA user_version").get
    with closing(apsw.Connection(str(tmp_path / "copy.db"))) as copy:
        assert copy.execute("SELECT DISTINCT agent_id FROM turn").get == "committed"


def test_damaged_journal_is_told(tmp_path: Path) -> None:
    """A copy of it would be damaged, too."""
    path = tmp_path / "journal.db"
    restore(path)
    with closing(apsw.Connection(str(path))) as db:
        db.execute("PRAGMA journal_mode=DELETE")
    whole = bytearray(path.read_bytes())
    for place in range(len(whole) // 2, len(whole), 4096):
        whole[place : place + 64] = b"\xff" * 64
    path.write_bytes(whole)
    with pytest.raises(JournalError, match=r"damaged|cannot be read"):
        copy_journal(path, tmp_path / "copy.db")
