"""Temporary files and links in a workspace."""

import os
import time
from pathlib import Path

import pytest

from orchestrator.extensions.workspace import system_folders
from orchestrator.extensions.workspace.workspace_folders import (
    MAX_AGE_SECONDS,
    link_python,
    link_skills,
    prepare_temporary_folder,
    resolve_skill_link,
)


def program(folder: Path, name: str) -> Path:
    """A program in a folder."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text("#!/bin/sh\n", "utf-8")
    path.chmod(0o755)
    return path


def skill(folder: Path, name: str) -> Path:
    """The folder of a skill."""
    path = folder / name
    path.mkdir(parents=True)
    (path / "SKILL.md").write_text("x", "utf-8")
    return path


def test_temporary_files_go_when_nothing_changed_them_for_a_day(tmp_path: Path) -> None:
    """Files, folders and links, and never what a link leads to."""
    kept = tmp_path / "kept.txt"
    kept.write_text("x", "utf-8")
    folder = prepare_temporary_folder(tmp_path, time.time())
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / "a.txt").write_text("x", "utf-8")
    (folder / "b.txt").write_text("x", "utf-8")
    (folder / "link").symlink_to(kept)
    assert prepare_temporary_folder(tmp_path, time.time()) == folder
    assert {path.name for path in folder.iterdir()} == {"b.txt", "deep", "link"}
    prepare_temporary_folder(tmp_path, time.time() + MAX_AGE_SECONDS + 60)
    assert list(folder.iterdir()) == []
    assert kept.exists()


def test_copy_with_old_times_is_new(tmp_path: Path) -> None:
    """An archive may bring files that are years old."""
    copied = prepare_temporary_folder(tmp_path, time.time()) / "copy.txt"
    copied.write_text("x", "utf-8")
    os.utime(copied, (0, 0))
    prepare_temporary_folder(tmp_path, time.time())
    assert copied.exists()


def test_both_names_of_python_are_one_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless the system or the agent has another; a link that leads nowhere is replaced."""
    python3 = program(tmp_path / "bin", "python3")
    monkeypatch.setattr(system_folders, "SEARCH_PATH", (str(tmp_path / "bin"),))
    link = tmp_path / ".local" / "bin" / "python"
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / "gone")
    link_python(tmp_path)
    assert link.readlink() == python3
    link.unlink()
    link.symlink_to(program(link.parent, "python3.99"))
    link_python(tmp_path)
    assert link.readlink().name == "python3.99"
    link.unlink()
    program(tmp_path / "bin", "python")
    link_python(tmp_path)
    assert not link.exists()


def test_links_lead_to_the_later_skill_of_a_name(tmp_path: Path) -> None:
    """As the prompt does; what the agent has there stays."""
    skills = [skill(tmp_path / "all", "tea"), skill(tmp_path / "own", "tea")]
    mine = tmp_path / ".claude" / "skills" / "mine"
    mine.mkdir(parents=True)
    link_skills(tmp_path, [*skills, skill(tmp_path / "all", "mine")])
    assert (mine.parent / "tea").readlink() == skills[1]
    assert not mine.is_symlink()
    assert resolve_skill_link(tmp_path, (".claude", "skills", "tea", "a.md")) == skills[1] / "a.md"
    for parts in ((".claude", "skills", "mine", "a.md"), (".claude", "skills"), ("a", "b", "c")):
        assert resolve_skill_link(tmp_path, parts) == tmp_path.joinpath(*parts)
