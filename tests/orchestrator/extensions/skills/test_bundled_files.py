"""Files bundled with a skill: only those below its folder are listed and read."""

import os
from pathlib import Path

import pytest

from orchestrator.extensions.skills.bundled_files import (
    MAX_LISTED,
    list_bundled_files,
    read_bundled,
)
from orchestrator.tools.builtin.host_tool import ToolFailure
from thinker.formats.regular_file import BUNDLED_FILE


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    """A skill with one reference, and a secret beside its folder."""
    folder = tmp_path / "skills" / "mail"
    (folder / "references").mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: mail\n---\n", "utf-8")
    (folder / "references" / "tasks.md").write_text("# Tasks\n", "utf-8")
    (tmp_path / "secret.txt").write_text("secret", "utf-8")
    return folder


def test_bundled_file_is_listed_and_read(skill: Path) -> None:
    """By its path below the folder; SKILL.md is not listed, as it is the skill itself."""
    assert list_bundled_files(skill) == ("references/tasks.md",)
    assert read_bundled(skill, "references/tasks.md") == "# Tasks\n"
    assert read_bundled(skill, "./references//tasks.md") == "# Tasks\n"


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        ("../../secret.txt", "without '..'"),
        ("references/../../../secret.txt", "without '..'"),
        ("/etc/passwd", "must be relative"),
        (".env", "must be relative"),
        ("a\0b", "must be relative"),
        ("link.txt", "leaves the skill's folder"),
        ("away/secret.txt", "leaves the skill's folder"),
        ("missing.md", "file not found"),
        ("references", "a directory, not a regular file"),
        ("pipe", "a named pipe, not a regular file"),
        ("picture.png", "not UTF-8"),
        ("large.txt", "larger than 256 KiB"),
        ("x" * 300, "File name too long"),
        ("loop", "cannot read 'loop': "),
    ],
)
def test_anything_else_is_refused_with_the_files_there_are(
    skill: Path, wanted: str, reason: str
) -> None:
    """The message shows no path of the host."""
    (skill / "link.txt").symlink_to(skill.parent.parent / "secret.txt")
    (skill / "away").symlink_to(skill.parent.parent)
    (skill / "loop").symlink_to("loop")
    (skill / ".env").write_text("KEY=1", "utf-8")
    os.mkfifo(skill / "pipe")
    (skill / "picture.png").write_bytes(b"\x89PNG\xff")
    (skill / "large.txt").write_bytes(b"x" * (BUNDLED_FILE.max_bytes + 1))
    with pytest.raises(ToolFailure) as failure:
        read_bundled(skill, wanted)
    message = str(failure.value)
    assert reason in message
    assert "there are: large.txt, picture.png, references/tasks.md" in message
    assert str(skill.parent) not in message


def test_link_within_the_folder_is_followed(skill: Path) -> None:
    """It shows nothing that is not bundled."""
    (skill / "tasks.md").symlink_to("references/tasks.md")
    assert list_bundled_files(skill) == ("references/tasks.md", "tasks.md")
    assert read_bundled(skill, "tasks.md") == "# Tasks\n"


def test_list_of_files_has_an_end(skill: Path) -> None:
    """A folder full of files does not fill the model's context."""
    for number in range(MAX_LISTED + 5):
        (skill / f"{number}.txt").touch()
    assert len(list_bundled_files(skill)) == MAX_LISTED
