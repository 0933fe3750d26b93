"""Making a home from a backup."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from fakes.golden import FILES, MOOD, upgrade_program
from fakes.golden import restore as golden_journal

from orchestrator.errors import AlreadyRunningError, OrchestratorError
from orchestrator.extensions.backups.backup import write_backup
from orchestrator.extensions.backups.restore import restore_backup
from orchestrator.journal.db.sqlite_storage import open_database
from orchestrator.journal.migrations import load_schema
from orchestrator.settings import Settings
from orchestrator.system.homelock import hold_lock


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A home with a journal, a configuration and a key."""
    home = tmp_path / "home"
    golden_journal(home / "journal.db")
    (home / "agents.json").write_text("old")
    (home / "keys.env").write_text("KEY=secret")
    return Settings(home=home)


@pytest.fixture
def backup(settings: Settings, tmp_path: Path) -> Path:
    """A backup of it without keys."""
    return write_backup(settings, tmp_path / "backup", keys=False).path


@pytest.mark.parametrize("golden", FILES, ids=lambda path: str(path.stem))
def test_backup_of_every_release_becomes_a_home_of_a_later_one(
    golden: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its journal is brought up to date before anything is replaced."""
    old, new = Settings(home=tmp_path / "old"), Settings(home=tmp_path / "new" / "home")
    golden_journal(old.paths.journal, golden)
    path = write_backup(old, tmp_path / "backup", keys=False).path
    upgrade_program(monkeypatch, MOOD)
    report = restore_backup(new, path, replace=False)
    assert report.manifest.schema == int(golden.stem)
    assert report.schema == load_schema().number + 1
    assert (report.aside, report.keys) == (None, ())
    with closing(open_database(new.paths.journal)) as db:
        assert db.execute("SELECT count(*) FROM turn").get
        assert db.execute("SELECT DISTINCT mood FROM fact").get == "calm"
    assert new.home.stat().st_mode & 0o777 == 0o700


def test_used_home_is_refused(settings: Settings, backup: Path) -> None:
    """Nothing is changed."""
    (settings.home / "agents.json").write_text("new")
    with pytest.raises(OrchestratorError, match="--replace"):
        restore_backup(settings, backup, replace=False)
    assert (settings.home / "agents.json").read_text() == "new"


def test_replaced_home_is_kept_beside_and_lends_its_keys(settings: Settings, backup: Path) -> None:
    """The backup has none."""
    (settings.home / "agents.json").write_text("new")
    report = restore_backup(settings, backup, replace=True)
    assert (settings.home / "agents.json").read_text() == "old"
    assert report.aside is not None
    assert (report.aside / "agents.json").read_text() == "new"
    assert report.keys == ("keys.env",)
    assert (settings.home / "keys.env").read_text() == "KEY=secret"
    assert (settings.home / "keys.env").stat().st_mode & 0o777 == 0o600


def test_keys_of_the_backup_win(settings: Settings, tmp_path: Path) -> None:
    """They were asked for."""
    path = write_backup(settings, tmp_path / "backup", keys=True).path
    (settings.home / "keys.env").write_text("KEY=newer")
    report = restore_backup(settings, path, replace=True)
    assert report.keys == ()
    assert (settings.home / "keys.env").read_text() == "KEY=secret"


def test_home_of_a_running_daemon_is_refused(settings: Settings, backup: Path) -> None:
    """Also with --replace."""
    with hold_lock(settings), pytest.raises(AlreadyRunningError, match="orchestrator stop"):
        restore_backup(settings, backup, replace=True)
    assert (settings.home / "agents.json").read_text() == "old"


def test_empty_home_is_used_as_it_is(backup: Path, tmp_path: Path) -> None:
    """Systemd may have made it; nothing is left beside."""
    empty = Settings(home=tmp_path / "empty")
    empty.home.mkdir()
    report = restore_backup(empty, backup, replace=False)
    assert report.aside is None
    assert (empty.home / "agents.json").read_text() == "old"
    assert {path.name for path in tmp_path.iterdir()} == {"home", "backup", "empty"}


def test_damaged_backup_changes_nothing(settings: Settings, backup: Path, tmp_path: Path) -> None:
    """No half of a home is left, and the old one stays."""
    backup.write_bytes(backup.read_bytes()[:-100])
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(OrchestratorError, match="nothing was changed"):
        restore_backup(settings, backup, replace=True)
    assert {*tmp_path.rglob("*")} - {*before} <= {settings.paths.lock}


def test_journal_of_a_newer_version_is_refused(settings: Settings, tmp_path: Path) -> None:
    """It names both schemas."""
    with closing(sqlite3.connect(settings.paths.journal)) as db:
        db.execute("PRAGMA user_version=9999")
    path = write_backup(settings, tmp_path / "newer", keys=False).path
    with pytest.raises(OrchestratorError, match="schema 9999"):
        restore_backup(settings, path, replace=True)


def test_link_to_a_home_stays_a_link(settings: Settings, backup: Path, tmp_path: Path) -> None:
    """What it leads to is replaced."""
    link = tmp_path / "link"
    link.symlink_to(settings.home)
    restore_backup(Settings(home=link), backup, replace=True)
    assert link.is_symlink()
    assert (link / "agents.json").read_text() == "old"
