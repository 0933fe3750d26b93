"""A home of another user: whose it is, and the command that works."""

import os
import pwd
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from fakes.acting_user import acting_as
from fakes.control_server import ask, command, serving

from orchestrator.cli import other_user
from orchestrator.errors import ConfigError, ExitCode
from orchestrator.system.installed_units import find_unit_path

ME = pwd.getpwuid(os.geteuid()).pw_name


def test_closed_home_is_told_with_its_owner(tmp_path: Path) -> None:
    """Every command that has a home checks this before it reads anything there."""
    home = tmp_path / "home"
    home.mkdir(mode=0)
    with (
        acting_as("nobody" if ME == "root" else ME),
        pytest.raises(ConfigError, match=f"belongs to the user {ME}.* try: .*--home {home}"),
    ):
        other_user.require_access(home)
    home.chmod(0o700)
    other_user.require_access(home)
    other_user.require_access(home / "missing")


@pytest.mark.skipif(ME != "root", reason="only root can give files away")
def test_files_of_another_user_in_an_own_home_are_told_with_the_repair(tmp_path: Path) -> None:
    """The daemon would end with a traceback when it binds its socket."""
    (tmp_path / "run").mkdir()
    (tmp_path / "lock").touch()
    for name in ("run", "lock"):
        os.chown(tmp_path / name, 12345, 12345)
    with pytest.raises(ConfigError, match=f"1 more belong to the user #12345.* chown -R {ME}:"):
        other_user.require_owner(tmp_path)


def test_command_without_a_daemon_names_the_service_that_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person who asks from another shell sees where the daemon is."""
    monkeypatch.setenv("HOME", str(tmp_path))
    shown = command(tmp_path / "other", "status")
    assert str(tmp_path / ".orchestrator") not in shown.stderr
    unit = find_unit_path("user", tmp_path)
    unit.parent.mkdir(parents=True)
    unit.write_text("[Service]\n")
    for line in ("status", "stop"):
        shown = command(tmp_path / "other", line)
        assert shown.exit_code == ExitCode.NOT_RUNNING
        assert f"a service is installed for {tmp_path / '.orchestrator'}, try: " in shown.stderr
    shown = command(tmp_path / ".orchestrator", "status")
    assert "a service is installed" not in shown.stderr


@pytest.fixture
def usual(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The usual home of a person, with a short path, as for every socket."""
    with TemporaryDirectory() as folder:
        monkeypatch.setenv("HOME", folder)
        home = Path(folder, ".orchestrator")
        home.mkdir()
        yield home


async def test_command_on_a_wrong_home_names_the_usual_one_where_a_daemon_runs(
    usual: Path,
) -> None:
    """As in a shell that still has another ORCHESTRATOR_HOME."""
    async with serving(usual, {}):
        shown = await ask(usual.with_name("other"), "status")
    assert shown.exit_code == ExitCode.NOT_RUNNING
    assert f"one runs on {usual}, try: " in shown.stderr
    shown = await ask(usual.with_name("other"), "status")
    assert "one runs on" not in shown.stderr
