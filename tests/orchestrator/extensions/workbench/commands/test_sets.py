"""``orchestrator sets``: with a daemon through it, without one in the journal."""

import json
from pathlib import Path

import pytest
from fakes.control_server import ask, command, serving
from fakes.golden import restore_in
from fakes.journal import connection_in

from orchestrator.control.trials import SETS_ADD, SavedTurn
from orchestrator.errors import ExitCode


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home whose journal has turns in every state."""
    restore_in(tmp_path)
    connection_in(tmp_path).close()
    return tmp_path


def test_turn_is_kept_shown_and_taken_out(home: Path) -> None:
    """With its checks; without a daemon the journal is locked meanwhile."""
    added = command(home, "sets", "add", "daily", "turn-dead", "--check", "calls at most: 2")
    assert (added.exit_code, added.stdout) == (0, "kept in the set daily, with 1 check\n")
    (saved,) = json.loads(command(home, "sets", "list", "--json").stdout)["turns"]
    assert (saved["setName"], saved["turn"], saved["by"]) == ("daily", "turn-dead", "operator")
    assert "daily" in command(home, "sets", "list").stdout
    shown = command(home, "sets", "show", "daily").stdout
    assert "\n    calls at most: 2\n" in shown
    assert command(home, "sets", "rm", "daily", "turn-dead").exit_code == 0
    assert command(home, "sets", "list").stdout == "no turn is kept as a test\n"


def test_mistakes_are_told_before_anything_is_kept(home: Path) -> None:
    """A line that is no check, an unknown turn or set."""
    wrong = command(home, "sets", "add", "daily", "turn-dead", "--check", "polite")
    assert wrong.exit_code == 2
    assert "line 1 of the checks" in wrong.stderr
    assert command(home, "sets", "add", "daily", "nothing").exit_code == ExitCode.USAGE
    assert command(home, "sets", "show", "daily").exit_code == ExitCode.USAGE


async def test_running_daemon_keeps_the_turn(home: Path) -> None:
    """Its journal has one writer."""
    answer = SavedTurn(set_name="daily", turn="turn-dead")
    async with serving(home, {SETS_ADD: answer}) as server:
        done = await ask(home, "sets", "add", "daily", "dead", "--check", "would not ask")
        (asked,) = server.params(SETS_ADD)
    assert done.exit_code == 0
    assert isinstance(asked, dict)
    assert (asked["setName"], asked["checks"]) == ("daily", "would not ask")
