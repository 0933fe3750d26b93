"""What stands in the journal's place: only what a daemon left there is worked with."""

import os
import stat
from pathlib import Path

import apsw
import pytest
from structlog.testing import capture_logs

from orchestrator.errors import ExitCode, JournalError
from orchestrator.journal.db.journal_file import build_new_mark_path, build_wal_path
from orchestrator.journal.db.sqlite_storage import SqliteStorage, open_database
from orchestrator.journal.db.store import Store
from orchestrator.journal.migrations import load_schema


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of a journal that was used and closed."""
    path = tmp_path / "journal.db"
    db = open_database(path)
    db.execute("INSERT INTO meta VALUES('epoch', '7')")
    db.close()
    return path


def epoch(path: Path) -> object:
    db = open_database(path)
    try:
        return db.execute("SELECT v FROM meta WHERE k = 'epoch'").get
    finally:
        db.close()


def refusal(path: Path) -> str:
    """Return why a journal is not opened; what is there stays as it is."""
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(JournalError) as caught:
        open_database(path)
    assert caught.value.exit_code is ExitCode.IO
    assert "restore a backup" in str(caught.value)
    assert before == (path.read_bytes() if path.is_file() else None)
    return str(caught.value)


def test_empty_journal_is_refused(path: Path) -> None:
    """A crash or a full disk has emptied it: a new one in its place would hide the loss."""
    path.write_bytes(b"")
    assert "it is empty" in refusal(path)


def test_empty_file_that_was_never_used_is_refused_too(tmp_path: Path) -> None:
    """No daemon leaves one behind."""
    (tmp_path / "journal.db").touch()
    assert "it is empty" in refusal(tmp_path / "journal.db")


def test_removed_journal_is_made_anew_and_told(path: Path) -> None:
    """Moving it away is what the messages advise."""
    path.unlink()
    with capture_logs() as logs:
        assert epoch(path) is None
    assert [entry["event"] for entry in logs] == ["journal_created"]
    with capture_logs() as logs:
        assert epoch(path) is None
    assert logs == []


def test_journal_whose_making_was_cut_is_made_again(tmp_path: Path) -> None:
    """The mark tells it from one that was emptied later; it goes when the journal is whole."""
    path = tmp_path / "journal.db"
    path.touch()
    build_new_mark_path(path).touch()
    assert epoch(path) is None
    assert not build_new_mark_path(path).exists()


def test_write_ahead_log_without_its_journal_is_refused_and_kept(path: Path) -> None:
    """SQLite would drop it, and with it the newest messages."""
    build_wal_path(path).write_bytes(b"x" * 4152)
    path.unlink()
    assert "journal.db-wal holds a part of it" in refusal(path)
    assert build_wal_path(path).stat().st_size == 4152
    assert not path.exists()


@pytest.mark.parametrize("lost", [1, 4096, 8192 + 17])
def test_cut_journal_is_refused(path: Path, lost: int) -> None:
    """Within a page, or at the boundary of one."""
    os.truncate(path, path.stat().st_size - lost)
    assert "it is cut" in refusal(path)


def test_what_is_no_file_is_refused_without_waiting(tmp_path: Path) -> None:
    """A named pipe would hold the start for ever."""
    pipe, folder, link = (tmp_path / name for name in ("pipe", "folder", "link"))
    os.mkfifo(pipe)
    folder.mkdir()
    link.symlink_to(tmp_path / "unmounted" / "journal.db")
    assert "not a regular file" in refusal(pipe)
    assert "not a regular file" in refusal(folder)
    assert "leads nowhere" in refusal(link)


def test_link_to_a_journal_is_followed(path: Path, tmp_path: Path) -> None:
    """People keep it on another disk; what SQLite puts beside it is there as well."""
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises(JournalError, match="leads nowhere"):
        Store(SqliteStorage(loop))
    link = tmp_path / "elsewhere" / "journal.db"
    link.parent.mkdir()
    link.symlink_to(path)
    path.chmod(0o644)
    assert epoch(link) == "7"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    build_wal_path(path).touch()
    os.truncate(path, path.stat().st_size - 4096)
    assert "restore a backup" in refusal(link)


@pytest.mark.parametrize("version", [0, load_schema().number])
def test_database_of_another_program_is_refused_and_kept(tmp_path: Path, version: int) -> None:
    """Also one with our schema's number, such as a journal from before the first release."""
    path = tmp_path / "journal.db"
    db = apsw.Connection(str(path))
    db.execute(f"CREATE TABLE bookmark(url TEXT); PRAGMA user_version={version:d}")
    db.close()
    assert "of another program" in refusal(path)
    db = apsw.Connection(str(path))
    assert db.execute("SELECT name FROM sqlite_schema").get == "bookmark"
    db.close()
