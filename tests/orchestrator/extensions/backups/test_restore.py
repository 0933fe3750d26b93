"""Making a home from a backup."""

import hashlib
import json
import sqlite3
import tarfile
import threading
from contextlib import closing
from io import BytesIO
from pathlib import Path

import pytest
from fakes.golden import FILES, MOOD, upgrade_program
from fakes.golden import restore as golden_journal
from fakes.time_limit import LIMIT

from orchestrator.errors import AlreadyRunningError, OrchestratorError
from orchestrator.extensions.backups.backup import write_backup
from orchestrator.extensions.backups.restore import restore_backup
from orchestrator.journal.db.liveness import set_meta
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


def test_backup_beside_a_writer_is_restored_to_one_state(
    settings: Settings, tmp_path: Path
) -> None:
    """All rows of before are in it, and of each later transaction all or nothing."""
    begun, done = threading.Event(), threading.Event()
    with closing(open_database(settings.paths.journal)) as db:
        before = db.execute("SELECT * FROM inbox ORDER BY id").fetchall()

    def write() -> None:
        with closing(open_database(settings.paths.journal)) as db:
            number = 0
            while not done.is_set():
                number += 1
                with db:
                    set_meta(db, "left", number)
                    set_meta(db, f"{'k' * 2000}{number}", number)
                    set_meta(db, "right", number)
                begun.set()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        begun.wait(LIMIT)
        path = write_backup(settings, tmp_path / "b", keys=False).path
    finally:
        done.set()
        writer.join()
    restored = Settings(home=tmp_path / "again")
    restore_backup(restored, path, replace=False)
    with closing(open_database(restored.paths.journal)) as db:
        assert db.execute("SELECT * FROM inbox ORDER BY id").fetchall() == before
        left, right = (
            db.execute("SELECT v FROM meta WHERE k = ?", (name,)).get for name in ("left", "right")
        )
        assert left == right
        kept = db.execute("SELECT count(*) FROM meta WHERE k LIKE 'kk%'").get
        assert kept == int(left) >= 1


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


def forge(path: Path, links: dict[str, str]) -> Path:
    """A backup with these links, as somebody else may have made it."""
    digests = {name: hashlib.sha256(to.encode()).hexdigest() for name, to in links.items()}
    text = json.dumps({"version": "1", "made": "now", "format": 1, "files": digests}).encode()
    with tarfile.open(path, "w:gz") as tar:
        for name, to in links.items():
            link = tarfile.TarInfo(f"home/{name}")
            link.type, link.linkname = tarfile.SYMTYPE, to
            tar.addfile(link)
        manifest = tarfile.TarInfo("manifest.json")
        manifest.size = len(text)
        tar.addfile(manifest, BytesIO(text))
    return path


@pytest.mark.parametrize("name", ["keys.env", "http-token", ".env", "journal.db"])
def test_nothing_is_written_through_a_link_of_a_backup(
    name: str, settings: Settings, tmp_path: Path
) -> None:
    """The file that it leads to stays as it is, and so does the home."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (settings.home / name).write_bytes(
        (settings.home / name).read_bytes() if name[0] == "j" else b"K=1"
    )
    with pytest.raises(OrchestratorError, match=f"{name} is a link in it"):
        restore_backup(settings, forge(tmp_path / "b", {name: str(victim)}), replace=True)
    assert victim.read_text() == "mine"
    assert (settings.home / "agents.json").read_text() == "old"


@pytest.mark.parametrize(
    ("name", "to"),
    [
        ("chat-history", "{out}"),
        ("chat-history", "../victim"),
        ("skills", "{out}"),
        ("workspaces", "/etc"),
        ("workspaces/work", "{out}"),
        ("workspaces/work@chats/telegram-1-0123456789abcdef", "{out}"),
        ("servers/files", "../../.ssh"),
        ("chat-history", "workspaces/work/out"),
        ("prompts", "x/../.."),
        ("prompts", "{home}/../victim"),
    ],
)
def test_link_out_of_the_home_is_left_out_and_told(
    name: str, to: str, settings: Settings, tmp_path: Path
) -> None:
    """The daemon writes to such names, or gives them to an agent."""
    to = to.format(out=tmp_path / "victim", home=settings.home)
    report = restore_backup(settings, forge(tmp_path / "b", {name: to}), replace=True)
    assert report.links == (name,)
    assert not (settings.home / name).is_symlink()


@pytest.mark.parametrize(
    ("name", "to"),
    [
        ("workspaces/work/.local/bin/python3", "/usr/bin/python3"),
        ("workspaces/work@chats/telegram-1-0123456789abcdef/data", "/srv/data"),
        ("prompts/tea.md", "../skills/tea/SKILL.md"),
        ("skills/tea", "{home}/agents/tea"),
    ],
)
def test_link_that_a_home_has_stays(name: str, to: str, settings: Settings, tmp_path: Path) -> None:
    """One that leads to the home itself, or one in the folder of an agent, which is walled."""
    to = to.format(home=settings.home)
    folder = tmp_path / "b"
    (settings.home / name).parent.mkdir(parents=True, exist_ok=True)
    (settings.home / name).symlink_to(to)
    path = write_backup(settings, folder, keys=False).path
    report = restore_backup(settings, path, replace=True)
    assert report.links == ()
    assert str((settings.home / name).readlink()) == to
