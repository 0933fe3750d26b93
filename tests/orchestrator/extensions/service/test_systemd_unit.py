"""The systemd unit, judged by systemd itself where it is installed."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fakes.time_limit import LIMIT

from orchestrator.errors import ConfigError
from orchestrator.extensions.service.systemd_unit import render_unit, write_unit
from orchestrator.system.installed_units import (
    UNIT,
    InstalledUnit,
    Scope,
    find_unit_path,
    list_installed_units,
)

ANALYZE = shutil.which("systemd-analyze")
COMMAND = ("/usr/bin/env", "orchestrator", "run")
needs_systemd = pytest.mark.skipif(ANALYZE is None, reason="systemd-analyze is not installed")


def analyze(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run systemd-analyze."""
    return subprocess.run(
        [str(ANALYZE), *arguments], capture_output=True, text=True, check=False, timeout=LIMIT
    )


@needs_systemd
@pytest.mark.parametrize("scope", ["user", "system"])
def test_systemd_accepts_the_unit_without_a_word(scope: Scope, tmp_path: Path) -> None:
    """systemd-analyze reports unknown and misspelled settings."""
    path = tmp_path / UNIT
    write_unit(path, render_unit(scope, COMMAND))
    done = analyze("verify", "--man=no", str(path))
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@needs_systemd
@pytest.mark.parametrize("scope", ["user", "system"])
def test_unit_keeps_its_exposure_low(scope: Scope, tmp_path: Path) -> None:
    """The exposure score of systemd-analyze stays below its limit."""
    path = tmp_path / UNIT
    write_unit(path, render_unit(scope, COMMAND))
    done = analyze("security", "--offline=true", str(path))
    level = re.search(r"exposure level for \S+: ([0-9.]+)", done.stdout)
    assert level is not None, done.stdout + done.stderr
    assert float(level[1]) <= 1.5


@pytest.mark.parametrize("scope", ["user", "system"])
def test_unit_says_what_the_daemon_relies_on(scope: Scope) -> None:
    """Readiness, watchdog, time to drain, no restart on a configuration error."""
    lines = render_unit(scope, COMMAND).splitlines()
    assert {"Type=notify", "WatchdogSec=30s", "TimeoutStopSec=90s"} <= set(lines)
    assert "RestartPreventExitStatus=78" in lines
    assert "ExecStart=/usr/bin/env orchestrator run" in lines
    assert not any(line.startswith("#") or "@EXEC" in line for line in lines)


def settings(scope: Scope, *, namespaces: bool = True) -> dict[str, str]:
    """The settings of a unit; of one that is there twice, the last."""
    lines = render_unit(scope, COMMAND, namespaces=namespaces).splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line)


def test_user_unit_asks_for_nothing_that_needs_root() -> None:
    """A user's manager cannot change accounts, and the rest only in a user namespace."""
    unit = settings("user")
    assert not unit.keys() & {"User", "Group", "StateDirectory", "LoadCredential", "RemoveIPC"}
    assert unit["PrivateUsers"] == "yes"
    plain = settings("user", namespaces=False)
    assert not plain.keys() & {"PrivateUsers", "ProtectSystem", "ProtectHome", "PrivateDevices"}
    assert plain["NoNewPrivileges"] == "yes"
    assert unit["WantedBy"] == plain["WantedBy"] == "default.target"
    assert settings("system")["WantedBy"] == "multi-user.target"


def test_unit_lets_node_run_and_the_daemon_make_its_jails() -> None:
    """Node.js writes the code that it runs; older versions of systemd do not know Landlock."""
    for scope in ("user", "system"):
        assert "MemoryDenyWriteExecute" not in settings(scope)
        text = render_unit(scope, COMMAND)
        assert "landlock_create_ruleset landlock_add_rule landlock_restrict_self seccomp" in text


def test_user_unit_may_write_to_the_home_of_the_daemon() -> None:
    """And to nothing else."""
    assert settings("user")["ReadWritePaths"] == "%h/.orchestrator"


def test_credentials_are_optional() -> None:
    """Systemd starts a unit without a credential that has no path and is nowhere."""
    lines = render_unit("system", COMMAND).splitlines()
    assert [line for line in lines if line.startswith("LoadCredential")] == [
        "LoadCredential=keys.env",
        "LoadCredential=telegram-token",
    ]


def test_command_is_quoted_for_systemd() -> None:
    """Spaces, quotes and the characters that systemd expands."""
    text = render_unit("user", ("/opt/my app/run", "50%", "$HOME", 'a"b'))
    assert 'ExecStart="/opt/my app/run" "50%%" "$$HOME" "a\\"b"\n' in text
    with pytest.raises(ConfigError, match="control character"):
        render_unit("user", ("/opt/run", "a\nUser=root"))


def test_program_without_a_whole_path_is_refused() -> None:
    """No service has a working directory to search."""
    with pytest.raises(ConfigError, match="absolute path"):
        render_unit("user", ("orchestrator", "run"))


def test_unit_replaces_an_older_one(tmp_path: Path) -> None:
    """Nothing but the unit is left behind, readable by systemd."""
    path = tmp_path / "systemd" / UNIT
    write_unit(path, "old")
    write_unit(path, render_unit("user", (sys.executable, "-m", "orchestrator", "run")))
    assert sys.executable in path.read_text("utf-8")
    assert list(path.parent.iterdir()) == [path]
    assert path.stat().st_mode & 0o777 == 0o644


def test_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    """With a hint at what to do."""
    (tmp_path / "etc").touch()
    with pytest.raises(ConfigError, match="who owns its folder"):
        write_unit(tmp_path / "etc" / "systemd" / UNIT, "text")


@pytest.mark.parametrize("scope", ["user", "system"])
def test_own_units_are_found_with_their_home_and_user(scope: Scope, tmp_path: Path) -> None:
    """As `orchestrator.system.installed_units` reads what `service install` writes."""
    person = tmp_path / "person"
    base = person if scope == "user" else tmp_path
    write_unit(find_unit_path(scope, base), render_unit(scope, COMMAND))
    home, user = (person / ".orchestrator", "")
    if scope == "system":
        home, user = Path("/var/lib/orchestrator"), "orchestrator"
    assert [*list_installed_units(person, tmp_path)] == [
        InstalledUnit(scope, find_unit_path(scope, base), home, user)
    ]
