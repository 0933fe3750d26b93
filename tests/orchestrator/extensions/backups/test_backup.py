"""Writing a backup."""

import errno
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.golden import restore as golden_journal
from pydantic import SecretStr

from orchestrator.errors import JournalError, OrchestratorError
from orchestrator.extensions.backups.archive import unpack_backup
from orchestrator.extensions.backups.backup import explain_os_errors, write_backup
from orchestrator.journal.migrations import FIRST
from orchestrator.settings import Settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A home with a journal, a configuration and a key."""
    home = tmp_path / "home"
    golden_journal(home / "journal.db")
    (home / "agents.json").write_text("{}")
    (home / "keys.env").write_text("KEY=secret")
    (home / "persona").symlink_to("/nowhere")
    return Settings(home=home)


def test_backup_is_whole_private_and_alone(settings: Settings, tmp_path: Path) -> None:
    """No key is in it, and nothing else is left in the folder."""
    folder = tmp_path / "backups"
    folder.mkdir()
    report = write_backup(settings, folder / "b", keys=False)
    assert list(folder.iterdir()) == [folder / "b"]
    assert report.path.stat().st_mode & 0o777 == 0o600
    assert unpack_backup(report.path, None) == report.manifest
    assert set(report.manifest.files) == {"agents.json", "journal.db", "persona"}
    assert report.outside == ("persona",)
    assert report.manifest.schema == FIRST


def test_keys_are_in_it_when_they_are_asked_for(settings: Settings, tmp_path: Path) -> None:
    """And the manifest says so."""
    manifest = write_backup(settings, tmp_path / "b", keys=True).manifest
    assert "keys.env" in manifest.files
    assert manifest.keys


def test_home_that_was_never_started_is_backed_up(tmp_path: Path) -> None:
    """It has a configuration and no journal."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "agents.json").write_text("{}")
    manifest = write_backup(Settings(home=home), tmp_path / "b", keys=False).manifest
    assert (manifest.schema, set(manifest.files)) == (None, {"agents.json"})


@pytest.mark.parametrize(
    ("place", "why"),
    [
        (lambda tmp: tmp / "there", "exists"),
        (lambda tmp: tmp, "is a folder"),
        (lambda tmp: tmp / "no" / "b", "folder not found"),
        (lambda tmp: tmp / "home" / "b", "inside of the home"),
    ],
)
def test_place_that_cannot_be_used_is_told(
    settings: Settings, tmp_path: Path, place: Callable[[Path], Path], why: str
) -> None:
    """What is there stays as it is."""
    (tmp_path / "there").write_text("precious")
    with pytest.raises(OrchestratorError, match=why):
        write_backup(settings, place(tmp_path), keys=False)
    assert (tmp_path / "there").read_text() == "precious"


def test_home_that_is_none_is_told(tmp_path: Path) -> None:
    """Its name may be mistyped."""
    with pytest.raises(OrchestratorError, match="--home"):
        write_backup(Settings(home=tmp_path / "hoem"), tmp_path / "b", keys=False)


def test_damaged_journal_leaves_no_file(settings: Settings, tmp_path: Path) -> None:
    """A backup that cannot be restored would be worse than none."""
    settings.paths.journal.write_bytes(b"SQLite format 3\0" + b"x" * 5000)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(JournalError):
        write_backup(settings, tmp_path / "b", keys=False)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("number", "told"), [(errno.ENOSPC, "the disk is full"), (errno.EACCES, "/x/y: Permission")]
)
def test_refusal_of_the_system_is_a_sentence(number: int, told: str) -> None:
    """With the place and what to do."""
    refused = OSError(number, "Permission denied", "/x/y")
    with pytest.raises(OrchestratorError, match=told), explain_os_errors(Path("/target")):
        raise refused


def test_journal_in_a_database_is_not_in_it(settings: Settings, tmp_path: Path) -> None:
    """Nor the file that it once was in, of which it could be taken for the newest state."""
    stored = settings.model_copy(update={"store": SecretStr("postgresql://localhost/j")})
    manifest = write_backup(stored, tmp_path / "b", keys=False).manifest
    assert (manifest.schema, set(manifest.files)) == (None, {"agents.json", "persona"})
