"""`orchestrator service`, with a systemctl that only takes notes."""

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from fakes.service_tools import ServiceTools
from typer.testing import CliRunner, Result

from orchestrator.cli import app
from orchestrator.errors import ExitCode
from orchestrator.extensions.service import program_paths
from orchestrator.system.installed_units import list_installed_units


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home directory with a short path, as the socket in it needs."""
    with TemporaryDirectory() as folder:
        ServiceTools(Path(folder), monkeypatch, ("systemctl",))
        monkeypatch.setitem(program_paths.HIDDEN, "user", ())  # this checkout may be anywhere
        yield Path(folder)


def service(person: Path, *arguments: str) -> Result:
    """Run a command of the service."""
    return CliRunner().invoke(app, ["service", *arguments], env={"HOME": str(person)})


def test_dry_run_prints_every_step_and_the_unit_and_does_nothing(person: Path) -> None:
    """The steps are comments, so that the output is still a unit; it starts this very program."""
    before = sorted(person.rglob("*"))
    done = service(person, "install", "--user", "--now", "--dry-run")
    assert done.exit_code == 0
    assert f"# mkdir -p -m 700 {person / '.orchestrator'}\n" in done.stdout
    assert "-P -m orchestrator run\n" in done.stdout
    assert sorted(person.rglob("*")) == before


def test_user_service_names_its_files_and_the_next_steps(person: Path) -> None:
    """Where the keys go, where agents.json is, and how to see whether it runs."""
    done = service(person, "install", "--user")
    assert done.exit_code == 0, done.stderr
    (unit, *_) = list_installed_units(person)
    assert unit.path == person / ".config/systemd/user/orchestrator.service"
    for line in (
        f"agents  {unit.home}/agents.json",
        f"keys    {unit.home}/keys.env",
        "loginctl enable-linger",
        "service status --user",
    ):
        assert line in done.stdout


def test_other_home_of_this_shell_is_told(person: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service has the usual one, and none of the shell's variables."""
    monkeypatch.setenv("ORCHESTRATOR_HOME", "/srv/bots")
    told = service(person, "install", "--user", "--dry-run").stderr
    assert "copy the files with --from /srv/bots" in told


def test_status_and_uninstall_without_a_service_say_so(person: Path) -> None:
    """With the exit codes of nothing running and of nothing to use."""
    shown = service(person, "status", "--user")
    assert shown.exit_code == ExitCode.NOT_RUNNING
    assert "service install --user" in shown.stdout
    removed = service(person, "uninstall", "--user")
    assert removed.exit_code == ExitCode.CONFIG
    assert "no service is installed" in removed.stderr


def test_status_names_home_and_log(person: Path) -> None:
    """Also where systemd does not run, which it then says."""
    service(person, "install", "--user")
    shown = service(person, "status", "--user")
    assert shown.exit_code == ExitCode.NOT_RUNNING
    assert f"{person / '.orchestrator'}, of the user" in shown.stdout
    assert "journalctl --user --unit orchestrator" in shown.stdout


def test_uninstalled_service_says_where_its_data_is(person: Path) -> None:
    """A dry run removes nothing."""
    service(person, "install", "--user")
    dry = service(person, "uninstall", "--user", "--dry-run")
    assert f"# rm {person}" in dry.stdout
    assert any(unit.scope == "user" for unit in list_installed_units(person))
    done = service(person, "uninstall", "--user")
    assert done.exit_code == 0, done.stderr
    assert f"stays in {person / '.orchestrator'}" in done.stdout
    assert not any(unit.scope == "user" for unit in list_installed_units(person))


def test_home_to_copy_from_needs_agents(person: Path) -> None:
    """Before anything is done."""
    refused = service(person, "install", "--user", "--from", str(person / "missing"))
    assert refused.exit_code == ExitCode.CONFIG
    assert "--from" in refused.stderr
    assert not (person / ".orchestrator").exists()


def test_system_service_needs_root(person: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message is the command that works."""
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    refused = service(person, "install", "--system")
    assert refused.exit_code == ExitCode.CONFIG
    assert "try: sudo " in refused.stderr


@pytest.mark.parametrize("command", ["install", "status", "uninstall"])
def test_both_scopes_at_once_are_a_wrong_use(person: Path, command: str) -> None:
    """As is neither when one is installed."""
    refused = service(person, command, "--user", "--system")
    assert refused.exit_code == 2
    assert "either --user or --system" in refused.stderr
    assert service(person, "install").exit_code == 2
