"""A program that a hardened unit cannot see is refused before it fails."""

from pathlib import Path

import pytest

from orchestrator.errors import ConfigError
from orchestrator.extensions.service.program_paths import (
    SCRATCH,
    iter_needed_paths,
    require_visible,
)
from orchestrator.system.installed_units import Scope


@pytest.mark.parametrize(
    ("scope", "path"),
    [
        ("system", "/home/me/venv/bin/python"),
        ("system", "/root/.pyenv/versions/3.12/bin/python3.12"),
        *(("system", f"{top}/checkout/.venv/bin/python") for top in SCRATCH),
        *(("user", f"{top}/checkout/.venv/bin/python") for top in SCRATCH),
    ],
)
def test_hidden_program_is_refused_with_what_to_do(scope: Scope, path: str) -> None:
    """The message names the file and a place where it works."""
    with pytest.raises(ConfigError, match="cannot see") as refused:
        require_visible(scope, [("the program", Path(path))])
    assert path in str(refused.value)
    place = {"system": "/opt", "user": "~/orchestrator"}[scope]
    assert place in str(refused.value)


def test_visible_program_is_accepted() -> None:
    """A user service sees home directories."""
    require_visible("system", [("the program", Path("/opt/orchestrator/.venv/bin/python"))])
    require_visible("user", [("the program", Path("/home/me/venv/bin/python"))])


def test_links_folders_and_imports_belong_to_the_program(tmp_path: Path) -> None:
    """A venv's Python links to another; an editable install imports from a checkout."""
    real = tmp_path / "pyenv" / "python3"
    real.parent.mkdir()
    real.touch()
    (tmp_path / "middle").symlink_to("pyenv/python3")
    (tmp_path / "python").symlink_to(tmp_path / "middle")
    paths = [path for _, path in iter_needed_paths(str(tmp_path / "python"))]
    assert paths[:3] == [tmp_path / "python", tmp_path / "middle", real]
    checkout = Path(__file__).parents[4]
    assert {checkout / "orchestrator", checkout / "thinker"} <= set(paths)


def test_folder_that_is_a_link_into_a_hidden_place_is_refused(tmp_path: Path) -> None:
    """As `/opt/orchestrator` that links to a checkout below /tmp."""
    (tmp_path / "opt").symlink_to(SCRATCH[0])
    with pytest.raises(ConfigError, match="cannot see"):
        require_visible("user", [("the program", tmp_path / "opt" / "python")])
