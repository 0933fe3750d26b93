"""`orchestrator init`."""

import json
import os
from pathlib import Path

import pytest
from fakes.control_server import command

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


def test_home_of_another_user_is_not_prepared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its daemon could not use what root makes there; the message has the command that works."""
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    for line in ("init", "run"):
        refused = command(tmp_path, line)
        assert refused.exit_code == ExitCode.CONFIG
        assert f"{tmp_path} belongs to the user" in refused.stderr
        assert f"--home {tmp_path}" in refused.stderr
    assert list(tmp_path.iterdir()) == []
