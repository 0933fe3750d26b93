"""What a terminal shows when the daemon is ready."""

import sys
from pathlib import Path

import pytest

from orchestrator.extensions.reports.start_block import MAX_AGENTS, format_start_block

HOME = "/srv/.orchestrator"
READY = {"home": HOME, "config": f"{HOME}/agents.json", "channels": ["api", "telegram"]}


@pytest.fixture(autouse=True)
def _usual_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands need no option for this home."""
    monkeypatch.setenv("HOME", "/srv")


def test_agents_are_shown_with_their_models_and_the_next_commands() -> None:
    """One agent that thinks: nothing is to be set up."""
    shown = format_start_block({**READY, "models": {"work": "groq qwen3", "toy": "demo"}})
    assert "agents    toy   demo model" in shown
    assert "work  groq qwen3" in shown
    assert 'send toy "hello"' in shown
    assert "--home" not in shown
    assert "setup" not in shown


def test_setup_is_the_next_command_when_only_the_demo_model_answers() -> None:
    """A new user connects a model first."""
    shown = format_start_block({**READY, "models": {"toy": "demo"}})
    assert 0 < shown.index("setup") < shown.index("chat")


def test_commands_name_a_home_that_they_would_not_find() -> None:
    """They can be copied as they stand."""
    shown = format_start_block({**READY, "home": "/other home", "models": {"a": "x y"}})
    assert "status --home '/other home'" in shown


def test_environment_that_is_not_activated_is_activated_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without one, the commands have the program's whole path."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "scripts" / ".." / "orchestrator")])
    whole = format_start_block({**READY, "models": {"a": "x y"}})
    assert f"{sys.argv[0]} status" in whole
    (tmp_path / "activate").touch()
    short = format_start_block({**READY, "models": {"a": "x y"}})
    assert f". {tmp_path}/activate\n" in short
    assert " orchestrator status" in short


def test_long_list_of_agents_is_cut() -> None:
    """The block stays on a screen."""
    shown = format_start_block(
        {**READY, "models": {f"agent{n}": "x y" for n in range(MAX_AGENTS + 3)}}
    )
    assert "and 3 more" in shown
    assert len(shown.splitlines()) < 24


def test_file_without_agents_says_so() -> None:
    """No command is shown that would fail."""
    shown = format_start_block({**READY, "models": {}})
    assert "add one to agents.json" in shown
    assert "send" not in shown
