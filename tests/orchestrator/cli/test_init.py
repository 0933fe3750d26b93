"""`orchestrator init` and `orchestrator service install`."""

import json
from pathlib import Path

from fakes.control_server import command
from typer.testing import CliRunner

from orchestrator.cli import app
from orchestrator.errors import ExitCode


def test_fresh_home_holds_a_sound_file_that_an_editor_can_complete(tmp_path: Path) -> None:
    """The schema lies where the file says that it does; strangers cannot look in."""
    home = tmp_path / "home"
    made = command(home, "init")
    assert made.exit_code == 0
    assert home.stat().st_mode & 0o777 == 0o700
    text = json.loads((home / "agents.json").read_text("utf-8"))
    assert json.loads((home / text["$schema"]).read_text("utf-8"))["$id"]
    assert (home / "keys.env").stat().st_mode & 0o777 == 0o600
    assert "orchestrator run" in made.stdout
    assert command(home, "check").exit_code == 0


def test_second_init_overwrites_nothing(tmp_path: Path) -> None:
    """What a person wrote is theirs."""
    (tmp_path / "agents.json").write_text("mine", "utf-8")
    made = command(tmp_path, "init")
    assert made.exit_code == 0
    assert (tmp_path / "agents.json").read_text("utf-8") == "mine"
    assert f"kept     {tmp_path / 'agents.json'}" in made.stdout
    assert f"created  {tmp_path / 'keys.env'}" in made.stdout


def test_home_option_wins_and_is_repeated_in_the_advice(tmp_path: Path) -> None:
    """The next commands would otherwise look into another home."""
    home = tmp_path / "other"
    made = command(tmp_path, "init", "--home", str(home))
    assert f"orchestrator run --home {home}" in made.stdout
    assert (home / "agents.json").exists()
    assert not (tmp_path / "agents.json").exists()


def test_home_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    """A file is in the way."""
    (tmp_path / "file").write_text("", "utf-8")
    refused = command(tmp_path / "file" / "home", "init")
    assert refused.exit_code == ExitCode.CONFIG
    assert "ORCHESTRATOR_HOME" in refused.stderr


def test_dry_run_of_the_service_prints_the_unit_and_writes_nothing(tmp_path: Path) -> None:
    """The unit starts this very program."""
    done = CliRunner().invoke(
        app, ["service", "install", "--user", "--dry-run"], env={"HOME": str(tmp_path)}
    )
    assert done.exit_code == 0
    assert "-P -m orchestrator run\n" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_user_service_is_written_below_the_home_directory(tmp_path: Path) -> None:
    """With the commands that start it."""
    done = CliRunner().invoke(app, ["service", "install", "--user"], env={"HOME": str(tmp_path)})
    assert done.exit_code == 0
    assert (tmp_path / ".config/systemd/user/orchestrator.service").exists()
    assert "systemctl --user enable --now orchestrator" in done.stdout


def test_service_needs_either_user_or_system(tmp_path: Path) -> None:
    """Neither and both are a wrong use."""
    for scope in ([], ["--user", "--system"]):
        refused = command(tmp_path, "service", "install", *scope)
        assert refused.exit_code == 2
        assert "either --user or --system" in refused.stderr
