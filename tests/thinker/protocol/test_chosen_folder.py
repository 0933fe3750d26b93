"""Which skills a worker may read."""

from pathlib import Path

import pytest

from thinker.protocol.chosen_folder import ChosenFolder
from thinker.protocol.env import ThinkerSettings

FOLDERS = (Path("/home/skills"), Path("/home/agents/work/skills"))


@pytest.mark.parametrize(
    ("globs", "whole", "chosen"),
    [
        (("*",), FOLDERS, []),
        (("tea", "*"), FOLDERS, []),
        (("tea", "mail-*"), (), [ChosenFolder(path, ("tea", "mail-*")) for path in FOLDERS]),
        ((), (), []),
    ],
)
def test_worker_reads_only_folders_of_skills_that_it_may_use(
    globs: tuple[str, ...], whole: tuple[Path, ...], chosen: list[ChosenFolder]
) -> None:
    """All of them, those that globs admit, or none."""
    settings = ThinkerSettings(skills_dirs=FOLDERS, skills=globs)
    assert [path for path in settings.list_own_paths() if path in FOLDERS] == [*whole]
    assert settings.list_chosen_folders() == chosen


def test_names_are_matched_as_they_are_now(tmp_path: Path) -> None:
    """A missing folder has none."""
    folder = ChosenFolder(tmp_path, ("te?",))
    assert folder.list_admitted() == []
    for name in ("tea", "TEA", "coffee"):
        (tmp_path / name).mkdir()
    assert folder.list_admitted() == [f"{tmp_path}/tea"]
    assert ChosenFolder(tmp_path / "none", ("*",)).list_admitted() == []
