"""``orchestrator migrate``: the journal moves to PostgreSQL and back, and is used in one place."""

import json
from pathlib import Path

import pytest
from fakes.control_server import command
from fakes.journal import job, sqlite
from fakes.lived import Life
from fakes.postgresql import database_of, needs_server, sqlite_only

from orchestrator.errors import ExitCode, JournalError
from orchestrator.extensions.postgresql import moving, pg_schema
from orchestrator.journal import opening
from orchestrator.journal.turns import turns
from orchestrator.journal_address import DatabaseServer

pytestmark = [needs_server, sqlite_only]
AGENTS = {"agents": [{"agentId": "work", "llmProvider": "demo"}]}


def _kept(_: Path, *, missing_ok: bool = False) -> None:
    del missing_ok


def _interrupted(_: object) -> None:
    raise KeyboardInterrupt


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a conversation in its journal's file."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "agents.json").write_text(json.dumps(AGENTS), "utf-8")
    (home / "lock").touch()
    with sqlite(home) as db:
        with job(db):
            turns.boot(db, 0)
        Life(db, "work", "4711", "zebra").live()
    return home


def test_journal_moves_there_and_back(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was said is where the setting leads, and the other place is refused."""
    url = database_of(tmp_path / "server")
    moved = command(home, "migrate", "--to", url)
    assert moved.exit_code == 0, moved.stderr
    assert "copied and compared" in moved.stdout
    refused = command(home, "send", "work", "hi")
    with pytest.raises(JournalError, match="was moved to postgresql://"):
        opening.open_store(home / "journal.db")
    assert refused.exit_code != 0
    monkeypatch.setenv("ORCHESTRATOR_STORE", url)
    assert "zebra" in command(home, "export", "agent", "work").stdout
    back = command(home, "migrate", "--back")
    assert back.exit_code == 0, back.stderr
    assert (home / "journal.db-before").exists()
    with pytest.raises(JournalError, match="moved back to a file"):
        opening.open_store(DatabaseServer(url, home / "journal.db"))
    monkeypatch.delenv("ORCHESTRATOR_STORE")
    assert "zebra" in command(home, "export", "agent", "work").stdout
    opening.open_store(home / "journal.db").close()


def test_move_that_was_interrupted_leaves_one_journal(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The machine went down when the file was marked, and the server not yet."""
    url = database_of(tmp_path / "server")
    server = DatabaseServer(url, home / "journal.db")
    monkeypatch.setattr(pg_schema, "mark_arrived", _interrupted)
    with pytest.raises(KeyboardInterrupt):
        moving.move_to_server(server)
    with pytest.raises(JournalError, match="was interrupted"):
        opening.open_store(server)  # not as an empty one
    monkeypatch.setenv("ORCHESTRATOR_STORE", url)
    back = command(home, "migrate", "--back")
    assert back.exit_code == 0, back.stderr
    assert "the file has the journal" in back.stdout
    monkeypatch.delenv("ORCHESTRATOR_STORE")
    assert "zebra" in command(home, "export", "agent", "work").stdout


def test_way_back_that_was_interrupted_is_finished(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server was left, and the file not yet given free; an older file never is."""
    url = database_of(tmp_path / "server")
    assert command(home, "migrate", "--to", url).exit_code == 0
    monkeypatch.setenv("ORCHESTRATOR_STORE", url)
    old = (home / "journal.db-moved").read_text()
    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", _kept)
        assert command(home, "migrate", "--back").exit_code == 0
    back = (home / "journal.db-moved").read_text()
    (home / "journal.db-moved").write_text(old)
    refused = command(home, "migrate", "--back")
    assert "moved back to a file" in refused.stderr
    (home / "journal.db-moved").write_text(back)
    assert "the file has the journal" in command(home, "migrate", "--back").stdout
    monkeypatch.delenv("ORCHESTRATOR_STORE")
    assert "zebra" in command(home, "export", "agent", "work").stdout


def test_file_that_was_put_aside_is_never_removed(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a second way there and back."""
    for name in ("one", "two"):
        url = database_of(tmp_path / name)
        assert command(home, "migrate", "--to", url).exit_code == 0
        monkeypatch.setenv("ORCHESTRATOR_STORE", url)
        assert command(home, "migrate", "--back").exit_code == 0
        monkeypatch.delenv("ORCHESTRATOR_STORE")
    assert (home / "journal.db-before").exists()
    assert (home / "journal.db-before1").exists()


def test_database_that_is_used_already_is_refused(home: Path, tmp_path: Path) -> None:
    """The file stays the journal."""
    url = database_of(tmp_path / "server")
    assert command(home, "migrate", "--to", url).exit_code == 0
    (home / "journal.db-moved").unlink()
    again = command(home, "migrate", "--to", url)
    assert again.exit_code == ExitCode.IO
    assert "the target already has a journal" in again.stderr
    opening.open_store(home / "journal.db").close()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ((), "give a direction"),
        (("--to", "postgresql://x/y", "--back"), "give a direction"),
        (("--to", "mysql://x/y"), "must begin with postgresql://"),
        (("--to", "postgresql://127.0.0.1:1/x"), "check the server and ORCHESTRATOR_STORE"),
        (("--back",), "ORCHESTRATOR_STORE is not set"),
    ],
)
def test_wrong_use_says_what_to_do(home: Path, options: tuple[str, ...], problem: str) -> None:
    """And changes nothing."""
    done = command(home, "migrate", *options)
    assert done.exit_code != 0
    assert problem in done.stderr
    assert not (home / "journal.db-moved").exists()


def test_home_without_a_journal_is_told(tmp_path: Path) -> None:
    """There is nothing to move."""
    done = command(tmp_path, "migrate", "--to", database_of(tmp_path))
    assert done.exit_code == ExitCode.IO
    assert "there is no journal; start the daemon once" in done.stderr
