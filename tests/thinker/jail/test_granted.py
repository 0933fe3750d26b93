"""A worker's own files and folders, while they are edited."""

from pathlib import Path

import pytest

from thinker.jail.granted import OwnPaths
from thinker.protocol.chosen_folder import ChosenFolder


def own(home: Path) -> OwnPaths:
    """Paths of an agent with skills and a prompt, remembered."""
    skills = home / "skills"
    (skills / "one").mkdir(parents=True)
    (skills / "one" / "SKILL.md").write_text("text")
    (home / "prompt.txt").write_text("text")
    paths = OwnPaths((skills, home / "prompt.txt", home / "later"), home)
    paths.remember_places()
    return paths


def test_edits_below_a_granted_folder_need_no_new_worker(tmp_path: Path) -> None:
    """They are in reach, as is a file that was written over in place."""
    paths = own(tmp_path)
    (tmp_path / "skills" / "two").mkdir()
    (tmp_path / "skills" / "two" / "SKILL.md").write_text("text")
    (tmp_path / "prompt.txt").write_text("other")
    assert not paths.has_moved()


@pytest.mark.parametrize("path", ["skills", "prompt.txt"])
def test_path_that_something_else_took_needs_one(tmp_path: Path, path: str) -> None:
    """The right belongs to what was there before."""
    paths = own(tmp_path)
    (tmp_path / "other").mkdir()
    (tmp_path / path).rename(tmp_path / "away")
    assert not paths.has_moved()  # a new worker could not read it either
    (tmp_path / "other").rename(tmp_path / path)
    assert paths.has_moved()


def test_path_that_appears_needs_one(tmp_path: Path) -> None:
    """Until then there was nothing to grant."""
    paths = own(tmp_path)
    (tmp_path / "later").mkdir()
    assert paths.has_moved()


def test_links_in_a_folder_are_followed_and_watched(tmp_path: Path) -> None:
    """A linked skill, or a linked SKILL.md, lies elsewhere; a new target needs a new worker."""
    for name in ("a", "b"):
        (tmp_path / "elsewhere" / name).mkdir(parents=True)
        (tmp_path / "elsewhere" / name / "SKILL.md").write_text("text")
    home = tmp_path / "home"
    paths = own(home)
    linked, inner = home / "skills" / "linked", home / "skills" / "one" / "SKILL.md"
    linked.symlink_to(tmp_path / "elsewhere" / "a")
    assert paths.has_moved()
    inner.unlink()
    inner.symlink_to(tmp_path / "elsewhere" / "a" / "SKILL.md")
    assert {str(linked), str(inner)} < set(paths.list_paths())
    paths.remember_places()
    assert not paths.has_moved()
    linked.unlink()
    linked.symlink_to(tmp_path / "elsewhere" / "b")
    assert paths.has_moved()


@pytest.mark.parametrize("target", [".", "..", "journal.db", "agents/other", "/"])
def test_link_opens_nothing_else_of_the_home(tmp_path: Path, target: str) -> None:
    """A collection of skills may bring any link; one to a skill of its own is fine."""
    home = tmp_path / "home"
    paths = own(home)
    (home / "agents" / "other").mkdir(parents=True)
    (home / "journal.db").write_text("text")
    (home / "skills" / "bad").symlink_to(home / target)
    (home / "skills" / "good").symlink_to(home / "skills" / "one")
    found = set(paths.list_paths())
    assert str(home / "skills" / "bad") not in found
    assert str(home / "skills" / "good") in found


def test_skill_that_a_worker_may_use_from_now_on_needs_one(tmp_path: Path) -> None:
    """One that no glob admits changes nothing, and is not granted."""
    skills = tmp_path / "skills"
    (skills / "tea").mkdir(parents=True)
    (skills / "secret").mkdir()
    paths = OwnPaths((), tmp_path, [ChosenFolder(skills, ("tea*",))])
    assert [*paths.list_paths()] == [str(skills / "tea")]
    assert [*paths.list_folders()] == [str(skills)]
    paths.remember_places()
    (skills / "other").mkdir()
    assert not paths.has_moved()
    (skills / "tea-green").mkdir()
    assert paths.has_moved()
