"""A home is brought to a version, and what people have edited there stays beside it."""

from pathlib import Path

import pytest
from structlog.testing import capture_logs

from orchestrator.errors import ConfigError
from orchestrator.extensions.postgresql.shared_config.config_placing import (
    list_local_edits,
    load_applied_version,
    place_version,
    write_files,
)
from orchestrator.extensions.postgresql.shared_config.pushed_config import PushedFile, PushedVersion
from orchestrator.files import write_private
from orchestrator.home_paths import Paths

A = PushedFile("agents.json", executable=False, data=b"{}")
B = PushedFile("prompts/b.md", executable=False, data=b"b")
RUN = PushedFile("skills/note/run.sh", executable=True, data=b"#!")


@pytest.fixture
def home(tmp_path: Path) -> Paths:
    """An empty home."""
    paths = Paths(tmp_path / "home")
    paths.create_directories()
    return paths


def bring(home: Paths, number: int, *files: PushedFile) -> None:
    """Bring the home to a version with these files."""
    place_version(home, PushedVersion(number, f"digest {number}", 0, "far"), files)


def tree(home: Paths) -> dict[str, str]:
    """The files of a home but the record, with their texts."""
    return {
        str(path.relative_to(home.home)): path.read_text("utf-8")
        for path in sorted(home.home.rglob("*"))
        if path.is_file() and path != home.pushed
    }


def edits(home: Paths) -> tuple[str, ...]:
    """The names of files that differ from what was brought."""
    return list_local_edits(home, load_applied_version(home), {})[0]


def test_files_come_and_go_with_versions(home: Paths) -> None:
    """Programs can be executed, all is for this user alone, and empty folders go."""
    (home.skills / "own").mkdir()
    (home.skills / "own/SKILL.md").write_text("mine", "utf-8")
    bring(home, 1, A, B, RUN)
    assert load_applied_version(home).version == 1
    assert (home.home / RUN.name).stat().st_mode & 0o777 == 0o700
    assert (home.home / A.name).stat().st_mode & 0o777 == 0o600
    bring(home, 2, A._replace(data=b"{} "), B)
    assert tree(home) == {"agents.json": "{} ", "prompts/b.md": "b", "skills/own/SKILL.md": "mine"}
    assert not (home.skills / "note").exists()
    assert home.skills.exists()


def test_files_that_are_there_already_are_not_written(home: Paths) -> None:
    """As on the machine that has pushed them; a watch would report them."""
    bring(home, 1, A, B)
    before = [(home.home / file.name).stat().st_ino for file in (A, B)]
    bring(home, 2, A, B._replace(executable=True))
    assert (home.home / A.name).stat().st_ino == before[0]
    assert (home.home / B.name).stat().st_mode & 0o100


def test_local_edit_is_kept_beside_a_new_version(home: Paths) -> None:
    """Each of them, and the log says where; also of a file that is removed."""
    bring(home, 1, A, B)
    for number in (2, 3):
        (home.home / A.name).write_text(f"edit {number}", "utf-8")
        (home.home / B.name).write_text("edited", "utf-8")
        with capture_logs() as logs:
            bring(home, number, A._replace(data=b"%d" % number))
        kept = [line["kept"] for line in logs if line["event"] == "local_edit_kept"]
        assert f"{home.home}/agents.json.local-{number - 1}" in kept
    assert tree(home) == {
        "agents.json": "3",
        "agents.json.local-1": "edit 2",
        "agents.json.local-2": "edit 3",
        "prompts/b.md": "edited",  # the home's own since version 2
        "prompts/b.md.local-1": "edited",
    }


def test_own_file_is_kept_beside_the_first_version(home: Paths) -> None:
    """A machine that had a configuration of its own loses none of it."""
    (home.home / A.name).write_text("own", "utf-8")
    bring(home, 1, A)
    assert tree(home) == {"agents.json": "{}", "agents.json.local-1": "own"}


def test_what_is_in_the_way_is_moved_aside(home: Paths, tmp_path: Path) -> None:
    """A folder, a link to elsewhere and a file in the place of a folder; nothing follows a link."""
    far = tmp_path / "far"
    (far / "b.md").mkdir(parents=True)
    home.prompts.rmdir()
    home.prompts.symlink_to(far)
    (home.home / A.name).mkdir()
    (home.skills / "note").write_text("a note", "utf-8")
    bring(home, 1, A, B, RUN)
    assert (home.home / "agents.json.local-1").is_dir()
    assert (home.home / "prompts.local-1").is_symlink()
    assert (home.skills / "note.local-1").read_text("utf-8") == "a note"
    assert list((far / "b.md").iterdir()) == []
    assert (home.home / B.name).read_bytes() == b"b"
    assert not home.prompts.is_symlink()


def test_nothing_is_removed_through_a_link(home: Paths, tmp_path: Path) -> None:
    """The folder that it leads to is not the home's."""
    far = tmp_path / "far"
    far.mkdir()
    (far / "b.md").write_bytes(b"b")
    home.prompts.rmdir()
    home.prompts.symlink_to(far)
    bring(home, 1, A, B)
    bring(home, 2, A)
    assert (far / "b.md").read_bytes() == b"b"


def test_cut_off_application_is_done_again(home: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    """The record is written last, and what is there already is no edit."""
    bring(home, 1, A)

    def full(path: Path, data: bytes, mode: int = 0o600) -> None:
        if path == home.pushed:
            raise OSError(28, "No space left on device")
        write_private(path, data, mode)

    with monkeypatch.context() as patch:
        patch.setattr(
            "orchestrator.extensions.postgresql.shared_config.config_placing.write_private", full
        )
        with pytest.raises(OSError, match="No space"):
            bring(home, 2, A._replace(data=b"2"), B)
    bring(home, 2, A._replace(data=b"2"), B)
    assert tree(home) == {"agents.json": "2", "prompts/b.md": "b"}
    assert load_applied_version(home).version == 2


def test_edits_are_found(home: Paths) -> None:
    """A changed file, a missing one, and a new one; an unchanged file is not read again."""
    bring(home, 1, A, B, RUN)
    assert edits(home) == ()
    (home.home / A.name).write_text("edited", "utf-8")
    (home.home / B.name).unlink()
    (home.prompts / "new.md").touch()
    assert edits(home) == ("agents.json", "prompts/b.md", "prompts/new.md")
    found, seen = list_local_edits(home, load_applied_version(home), {})
    assert list_local_edits(home, load_applied_version(home), seen) == (found, seen)


@pytest.mark.parametrize("text", ["", "{", '{"version": "x"}'])
def test_broken_record_lets_no_file_count_as_a_pushed_one(home: Paths, text: str) -> None:
    """So that none is removed or replaced without a copy."""
    bring(home, 1, A, B)
    home.pushed.write_text(text, "utf-8")
    (home.home / A.name).write_text("edited", "utf-8")
    bring(home, 2, A)
    assert load_applied_version(home).version == 2
    assert tree(home) == {"agents.json": "{}", "agents.json.local-1": "edited", "prompts/b.md": "b"}


@pytest.mark.parametrize(
    "name", ["keys.env", "../x", "prompts/../keys.env", "/etc/x", "prompts//x", "", "prompts/a\0"]
)
def test_name_that_leads_elsewhere_is_refused(home: Paths, name: str) -> None:
    """Whatever has written it to the database; nothing is written then."""
    with pytest.raises(ConfigError, match="is not configuration"):
        bring(home, 1, A, A._replace(name=name))
    assert tree(home) == {}


def test_files_are_written_to_a_new_folder_alone(tmp_path: Path) -> None:
    """To compare them, or to push them again."""
    folder = tmp_path / "a/b"
    write_files(folder, [A, RUN])
    assert (folder / RUN.name).read_bytes() == b"#!"
    with pytest.raises(ConfigError, match="not empty; name a new folder"):
        write_files(folder, [A])
    with pytest.raises(ConfigError, match="name a folder that you own"):
        write_files(folder / A.name, [A])
