"""The units on a machine, and the homes that they serve."""

from pathlib import Path

import pytest

from orchestrator.system.installed_units import InstalledUnit, Scope, installed, path_of
from orchestrator.system.systemd_unit import render, write

COMMAND = ("/usr/bin/env", "orchestrator", "run")


@pytest.mark.parametrize("scope", ["user", "system"])
def test_own_units_are_found_with_their_home_and_user(scope: Scope, tmp_path: Path) -> None:
    """As `service install` writes them."""
    person = tmp_path / "person"
    base = person if scope == "user" else tmp_path
    write(path_of(scope, base), render(scope, COMMAND))
    home, user = (person / ".orchestrator", "")
    if scope == "system":
        home, user = Path("/var/lib/orchestrator"), "orchestrator"
    assert [*installed(person, tmp_path)] == [
        InstalledUnit(scope, path_of(scope, base), home, user)
    ]


def test_unit_that_a_person_changed_is_read_as_it_is(tmp_path: Path) -> None:
    """With another home, and another user."""
    path = path_of("system", tmp_path)
    write(path, '[Service]\nUser=bots\nEnvironment="ORCHESTRATOR_HOME=/srv/my bots"\n')
    (unit,) = installed(tmp_path / "person", tmp_path)
    assert (unit.home, unit.user) == (Path("/srv/my bots"), "bots")


def test_machine_without_units_has_none(tmp_path: Path) -> None:
    """A file that cannot be read counts as none."""
    assert [*installed(tmp_path, tmp_path)] == []
    path_of("user", tmp_path).mkdir(parents=True)
    assert [*installed(tmp_path, tmp_path)] == []
