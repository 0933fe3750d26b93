"""From nothing to a service and back, on a machine below a folder, with a fake systemctl."""

import os
import pwd
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from fakes.service_tools import ServiceTools

from orchestrator.errors import ConfigError
from orchestrator.extensions.service.service_host import ServiceHost
from orchestrator.extensions.service.service_steps import run_steps
from orchestrator.system.installed_units import Scope, list_installed_units

ME = pwd.getpwuid(os.geteuid()).pw_name
PROGRAM = (sys.executable, "-P", "-m", "orchestrator")


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A short path: a home has a socket, whose path is limited."""
    with TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ServiceTools:
    """Fakes of systemctl and useradd."""
    return ServiceTools(tmp_path, monkeypatch, ("systemctl", "useradd"))


def host(tmp_path: Path, scope: Scope, account: str = ME, *, systemd: bool = True) -> ServiceHost:
    """A machine with or without systemd."""
    (tmp_path / "var/lib").mkdir(parents=True, exist_ok=True)
    if systemd:
        (tmp_path / "run/systemd/system").mkdir(parents=True)
    return ServiceHost(scope, tmp_path / "person", tmp_path, account)


@pytest.mark.parametrize("scope", ["user", "system"])
def test_service_is_installed_from_nothing(
    scope: Scope, tmp_path: Path, tools: ServiceTools
) -> None:
    """A home for its user alone with files to edit, and a unit that systemd knows and starts."""
    machine = host(tmp_path, scope)
    told = [*run_steps(machine.plan_install(PROGRAM, None, now=True, namespaces=True))]
    assert f"+ tee {machine.unit_path}" in told
    assert machine.home_path.stat().st_mode & 0o777 == 0o700
    assert (machine.home_path / "agents.json").is_file()
    assert (machine.home_path / "keys.env").stat().st_mode & 0o777 == 0o600
    assert f"ExecStart={sys.executable} -P -m orchestrator run" in machine.unit_path.read_text(
        "utf-8"
    )
    prefix = "systemctl --user" if scope == "user" else "systemctl"
    assert tools.calls == [
        f"{prefix} daemon-reload",
        f"{prefix} enable orchestrator.service",
        f"{prefix} restart orchestrator.service",
    ]


def test_files_of_another_home_come_first(tmp_path: Path, tools: ServiceTools) -> None:
    """The bundled agents.json does not take their place."""
    source = tmp_path / "old"
    source.mkdir()
    (source / "agents.json").write_text("mine", "utf-8")
    machine = host(tmp_path, "system")
    [*run_steps(machine.plan_install(PROGRAM, source, now=False, namespaces=True))]
    assert (machine.home_path / "agents.json").read_text("utf-8") == "mine"
    assert "systemctl restart orchestrator.service" not in tools.calls
    with pytest.raises(ConfigError, match="--from"):
        machine.plan_install(PROGRAM, tmp_path, now=False, namespaces=True)


def test_account_is_made_once(tmp_path: Path, tools: ServiceTools) -> None:
    """If that does not work, the rest is left to a person, and no unit is written."""
    machine = host(tmp_path, "system", "no-such-user")
    with pytest.raises(ConfigError, match="done by hand") as failed:
        [*run_steps(machine.plan_install(PROGRAM, None, now=True, namespaces=True))]
    (call,) = tools.calls
    assert call.startswith("useradd --system --user-group")
    assert "sudo -u no-such-user" in str(failed.value)
    assert not machine.unit_path.exists()
    steps = host(tmp_path, "system", systemd=False).plan_install(
        PROGRAM, None, now=True, namespaces=True
    )
    assert not any("useradd" in step.command for step in steps)


def test_home_with_files_of_root_is_given_to_the_service(tmp_path: Path) -> None:
    """As after `sudo orchestrator init --home /var/lib/orchestrator`."""
    machine = host(tmp_path, "system", "nobody" if os.geteuid() == 0 else "root", systemd=False)
    machine.home_path.mkdir()
    (machine.home_path / "run").mkdir()
    steps = machine.plan_install(PROGRAM, None, now=False, namespaces=True)
    assert steps[1].command == f"chown -R -h {machine.account}: {machine.home_path}"


def test_machine_without_systemd_gets_the_unit_alone(tmp_path: Path, tools: ServiceTools) -> None:
    """Nothing asks a service manager that does not run."""
    machine = host(tmp_path, "user", systemd=False)
    [*run_steps(machine.plan_install(PROGRAM, None, now=True, namespaces=False))]
    assert machine.unit_path.exists()
    assert tools.calls == []


@pytest.mark.parametrize("systemd", [True, False])
def test_uninstalled_service_leaves_its_home(
    tmp_path: Path, tools: ServiceTools, *, systemd: bool
) -> None:
    """It is stopped before its unit goes."""
    machine = host(tmp_path, "user", systemd=systemd)
    [*run_steps(machine.plan_install(PROGRAM, None, now=False, namespaces=True))]
    (unit,) = list_installed_units(tmp_path / "person", tmp_path)
    before = len(tools.calls)
    [*run_steps(machine.plan_uninstall(unit))]
    assert [*list_installed_units(tmp_path / "person", tmp_path)] == []
    assert (machine.home_path / "agents.json").exists()
    assert tools.calls[before:] == (
        ["systemctl --user disable --now orchestrator.service", "systemctl --user daemon-reload"]
        if systemd
        else []
    )
