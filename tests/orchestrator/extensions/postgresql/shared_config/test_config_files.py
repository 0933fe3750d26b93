"""What of a folder is configuration that machines share, and what stays where it is."""

import os
from pathlib import Path

import pytest

from orchestrator.errors import ConfigError
from orchestrator.extensions.postgresql.shared_config import config_files
from orchestrator.extensions.postgresql.shared_config.config_files import collect_files

STATE = ("journal.db", "daemon.log", "agents.last-good.json", "pushed-config.json", "notes.txt")
SECRET = ("keys.env", "http-token", "api-token", ".env")
SHARED = (
    "agents.json",
    "agents/work/instructions.md",
    "hooks/guard.py",
    "prompts/a.md",
    "skills/note/SKILL.md",
    "skills/note/scripts/run.sh",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A home with configuration, keys and state; one file is a program."""
    folder = tmp_path / "home"
    for name in (*SHARED, *STATE, *SECRET, "run/control.sock", "workspaces/work/x.txt"):
        write(folder / name)
    (folder / "skills/note/scripts/run.sh").chmod(0o755)
    return folder


def write(path: Path, text: str = "text") -> Path:
    """A file, with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def test_configuration_is_collected_and_keys_and_state_are_not(folder: Path) -> None:
    """With the bit that makes a file a program."""
    found = collect_files(folder)
    assert sorted(file.name for file in found.files) == sorted(SHARED)
    assert [file.name for file in found.files if file.executable] == ["skills/note/scripts/run.sh"]
    assert {file.data for file in found.files} == {b"text"}
    assert found.left_out == []


def test_keys_and_hidden_files_in_a_skill_are_left_out_and_named(folder: Path) -> None:
    """Caches and edits that were kept are left out without a word."""
    write(folder / "skills/note/keys.env")
    write(folder / "skills/note/.env")
    write(folder / "skills/.git/config")
    write(folder / "hooks/__pycache__/guard.pyc")
    write(folder / "prompts/a.md.local-1")
    found = collect_files(folder)
    assert sorted(file.name for file in found.files) == sorted(SHARED)
    assert found.left_out == ["skills/.git", "skills/note/.env", "skills/note/keys.env"]


def test_link_to_another_shared_file_is_stored_as_that_file(folder: Path) -> None:
    """Other machines get a file."""
    (folder / "prompts/b.md").symlink_to("a.md")
    assert ("prompts/b.md", False, b"text") in collect_files(folder).files


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("/etc/hostname", "leads out of"),
        ("../keys.env", "which is not shared"),
        ("../../other", "leads out of"),
        ("../skills", "leads to a folder"),
        ("missing.md", "links to a file that does not exist"),
        ("b.md", "circle"),
    ],
)
def test_link_to_what_is_not_shared_is_refused(folder: Path, target: str, problem: str) -> None:
    """A key must not get out by a link; the message names the link."""
    (folder / "prompts/b.md").symlink_to(target)
    with pytest.raises(ConfigError, match=f"prompts/b.md.*{problem}"):
        collect_files(folder)


def test_folder_that_is_a_link_out_of_the_home_is_refused(folder: Path, tmp_path: Path) -> None:
    """Its files may be any."""
    write(tmp_path / "elsewhere/x.md")
    (folder / "skills/far").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match="skills/far: this link leads out of"):
        collect_files(folder)


def test_what_is_no_file_is_refused(folder: Path) -> None:
    """Nothing waits for a named pipe."""
    os.mkfifo(folder / "prompts/pipe.md")
    with pytest.raises(ConfigError, match=r"prompts/pipe.md: a named pipe"):
        collect_files(folder)


def test_name_that_is_not_utf_8_is_refused(folder: Path) -> None:
    """A database could not store it."""
    (folder / "prompts" / os.fsdecode(b"\xff.md")).touch()
    with pytest.raises(ConfigError, match="is not UTF-8; rename it"):
        collect_files(folder)


def test_too_much_is_refused_with_the_largest_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether there are too many bytes or too many files."""
    write(folder / "skills/note/film.txt", "x" * 100)
    monkeypatch.setattr(config_files, "MAX_FILES", 3)
    with pytest.raises(ConfigError, match="in 3 files, and this one has more"):
        collect_files(folder)
    monkeypatch.setattr(config_files, "MAX_FILES", 100)
    monkeypatch.setattr(config_files, "MAX_BYTES", 110)
    with pytest.raises(ConfigError, match=r"largest file is skills/note/film.txt \(100 bytes\)"):
        collect_files(folder)
