"""One look tells whether any of a worker's files changed."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from thinker.formats.own_files import OwnFiles
from thinker.formats.regular_file import SETTLED_NS, read_identity


def later() -> int:
    """Return a time at which nothing was written for a while."""
    return time.time_ns() + 2 * SETTLED_NS


def write(path: Path, text: str) -> None:
    """Write a file, with a later time of its folder than before if it is new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    before = read_identity(path.parent)
    fresh = not path.exists()
    path.write_text(text, "utf-8")
    while fresh and read_identity(path.parent) == before:
        path.unlink()
        path.write_text(text, "utf-8")


@pytest.mark.parametrize("clock", [time.time_ns, later])
def test_each_change_is_seen_once(tmp_path: Path, clock: Callable[[], int]) -> None:
    """Prompts and skills that are edited, added or removed, and folders that appear."""
    prompt, skills = tmp_path / "prompt.md", tmp_path / "skills"
    files = OwnFiles((prompt, skills), clock)
    assert files.detect_changes()
    for path in (prompt, skills / "tea" / "SKILL.md", skills / "mail" / "SKILL.md"):
        for text in ("one", "another"):
            write(path, text)
            assert files.detect_changes(), (path, text)
            assert not files.detect_changes()
    (skills / "tea" / "SKILL.md").unlink()
    assert files.detect_changes()
    (skills / "mail").rename(tmp_path / "mail")
    assert files.detect_changes()
    assert not files.detect_changes()


@pytest.mark.parametrize("clock", [time.time_ns, later])
def test_file_behind_a_link_is_seen_when_it_changes(
    tmp_path: Path, clock: Callable[[], int]
) -> None:
    """Links to a file, to a folder with a skill, and one that leads in a circle."""
    folder, tea = tmp_path / "own", tmp_path / "tea" / "SKILL.md"
    write(folder / "real.md", "real")
    write(tea, "one")
    (folder / "circle").symlink_to(folder / "circle")
    (folder / "link.md").symlink_to(tmp_path / "prompt.md")
    (folder / "tea").symlink_to(tea.parent)
    files = OwnFiles((folder,), clock)
    assert files.detect_changes()
    write(tmp_path / "prompt.md", "one")
    assert files.detect_changes()
    write(tea, "another")
    assert files.detect_changes()
    tea.parent.rename(tmp_path / "moved")
    assert files.detect_changes()
    assert not files.detect_changes()


def test_folder_that_was_just_written_to_is_listed_again(tmp_path: Path) -> None:
    """File systems count time in steps: what follows in the same step does not show in them."""
    skills = tmp_path / "skills"
    for number in range(50):
        files = OwnFiles((skills,))
        files.detect_changes()
        (skills / str(number)).mkdir(parents=True)
        (skills / str(number) / "SKILL.md").touch()
        assert files.detect_changes(), number
