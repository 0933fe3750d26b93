"""What people wrote is copied into a service's home, and nothing else is."""

import os
import pwd
import stat
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from orchestrator.errors import ConfigError
from orchestrator.extensions.service.home_copy import act_as_user, copy_home, require_home

ME = pwd.getpwuid(os.geteuid()).pw_name


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A home in use."""
    home = tmp_path / "old"
    (home / "skills" / "tea" / "scripts").mkdir(parents=True)
    (home / "skills" / "tea" / "SKILL.md").write_text("tea", "utf-8")
    script = home / "skills" / "tea" / "scripts" / "brew"
    script.write_text("#!/bin/sh", "utf-8")
    script.chmod(0o755)
    for name in ("agents.json", "keys.env", "journal.db"):
        (home / name).write_text(name, "utf-8")
    return home


def test_files_of_people_are_copied_for_the_owner_alone(source: Path, tmp_path: Path) -> None:
    """Scripts stay executable; the journal stays where it is."""
    target = tmp_path / "new"
    assert [*copy_home(source, target, ME)] == []
    copied = {str(path.relative_to(target)) for path in target.rglob("*") if path.is_file()}
    assert copied == {"agents.json", "keys.env", "skills/tea/SKILL.md", "skills/tea/scripts/brew"}
    modes = {name: stat.S_IMODE((target / name).stat().st_mode) for name in copied}
    assert modes.pop("skills/tea/scripts/brew") == 0o700
    assert set(modes.values()) == {0o600}


def test_existing_files_are_kept_and_told_if_they_differ(source: Path, tmp_path: Path) -> None:
    """The same command can run again."""
    target = tmp_path / "new"
    assert [*copy_home(source, target, ME)] == []
    (target / "agents.json").write_text("mine", "utf-8")
    assert [*copy_home(source, target, ME)] == [
        f"kept     {target / 'agents.json'}, which differs from {source / 'agents.json'}"
    ]
    assert (target / "agents.json").read_text("utf-8") == "mine"


def test_links_are_skipped_and_told(source: Path, tmp_path: Path) -> None:
    """Root would read any file through one."""
    for name in ("skills/passwd.md", "skills/etc", "hooks"):
        (source / name).symlink_to("/etc")
    told = [*copy_home(source, tmp_path / "new", ME)]
    assert [line.split(",")[0] for line in told] == [
        f"skipped  {source / name}" for name in ("skills/etc", "skills/passwd.md", "hooks")
    ]


def test_pipe_in_the_place_of_a_file_is_refused(source: Path, tmp_path: Path) -> None:
    """Reading it would wait for ever."""
    os.mkfifo(source / "skills" / "pipe")
    with pytest.raises(ConfigError, match="not a regular file"):
        [*copy_home(source, tmp_path / "new", ME)]


def test_home_without_agents_or_the_same_home_is_refused(source: Path, tmp_path: Path) -> None:
    """Each with what to give instead."""
    with pytest.raises(ConfigError, match=r"no agents\.json"):
        require_home(tmp_path, source)
    with pytest.raises(ConfigError, match="home already"):
        require_home(source, source)
    require_home(source, tmp_path / "new")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")
def test_files_belong_to_the_account(source: Path) -> None:
    """They are written with its rights, and read with those of root."""
    person = pwd.getpwnam("nobody")
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # root's other folders are closed
        target = Path(folder) / "new"
        target.mkdir()
        with pytest.raises(PermissionError):
            [*copy_home(source, target, "nobody")]
        os.chown(target, person.pw_uid, person.pw_gid)
        assert [*copy_home(source, target, "nobody")] == []
        owners = {(path.stat().st_uid, path.stat().st_gid) for path in target.rglob("*")}
    assert owners == {(person.pw_uid, person.pw_gid)}
    with act_as_user("nobody"):
        assert os.geteuid() == person.pw_uid
    assert os.geteuid() == 0
