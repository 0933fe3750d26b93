"""The units on a machine, and the homes that they serve."""

from pathlib import Path

from orchestrator.system.installed_units import find_unit_path, list_installed_units


def test_unit_that_a_person_changed_is_read_as_it_is(tmp_path: Path) -> None:
    """With another home, and another user."""
    path = find_unit_path("system", tmp_path)
    path.parent.mkdir(parents=True)
    path.write_text('[Service]\nUser=bots\nEnvironment="ORCHESTRATOR_HOME=/srv/my bots"\n')
    (unit,) = list_installed_units(tmp_path / "person", tmp_path)
    assert (unit.home, unit.user) == (Path("/srv/my bots"), "bots")


def test_machine_without_units_has_none(tmp_path: Path) -> None:
    """A file that cannot be read counts as none."""
    assert [*list_installed_units(tmp_path, tmp_path)] == []
    find_unit_path("user", tmp_path).mkdir(parents=True)
    assert [*list_installed_units(tmp_path, tmp_path)] == []
