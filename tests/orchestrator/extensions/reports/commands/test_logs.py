"""``orchestrator logs``."""

import json
from pathlib import Path

import pytest
from fakes.control_server import command

EVENTS: list[dict[str, object]] = [
    {"event": "ready", "level": "info", "agents": ["home"], "channels": ["api"]},
    {"event": "tool_call", "level": "info", "agent_id": "home", "tool": "get_time"},
    {"event": "turn_broke", "level": "error", "agent_id": "work"},
    {"event": "odd", "level": "debug", "agent_id": "home"},
]
TRACEBACK = "Traceback (most recent call last)"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a log."""
    lines = [json.dumps({**event, "timestamp": "2026-11-23T20:00:00Z"}) for event in EVENTS]
    (tmp_path / "daemon.log").write_text("\n".join([*lines, TRACEBACK, ""]))
    return tmp_path


def shown(home: Path, *options: str) -> list[str]:
    """What is printed, without dates and times."""
    done = command(home, "logs", *options)
    assert done.exit_code == 0, done.stderr
    return [line.split(" ", 3)[-1] for line in done.stdout.splitlines()]


def test_events_are_shown_in_words(home: Path) -> None:
    """And what is no event as it is."""
    lines = shown(home)
    assert lines[0] == "ready: home on api"
    assert lines[1] == "home: runs get_time"
    assert lines[-1].endswith("last)")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--agent", "home"], ["home: runs get_time", "home: odd"]),
        (["--level", "warning"], ["ERROR work: turn broke"]),
        (["--agent", "home", "--level", "info"], ["home: runs get_time"]),
        (["-n", "1", "--agent", "home"], ["home: odd"]),
        (["-n", "0"], []),
    ],
)
def test_lines_are_chosen(home: Path, options: list[str], expected: list[str]) -> None:
    """By agent, level and number."""
    assert shown(home, *options) == expected


def test_json_is_what_the_daemon_wrote(home: Path) -> None:
    """For programs: events alone."""
    printed = command(home, "logs", "--json").stdout.splitlines()
    assert [json.loads(line)["event"] for line in printed] == [e["event"] for e in EVENTS]


def test_no_line_of_an_agent_is_told(home: Path) -> None:
    """Its name may be mistyped."""
    done = command(home, "logs", "--agent", "hoem")
    assert (done.stdout, done.stderr) == ("", "no matching lines of agent 'hoem'\n")


def test_unknown_level_is_refused(home: Path) -> None:
    """With the levels there are."""
    done = command(home, "logs", "--level", "loud")
    assert done.exit_code == 2
    assert "warning" in done.stderr


def test_home_without_a_log_is_told(tmp_path: Path) -> None:
    """Nothing was started on it yet."""
    done = command(tmp_path, "logs")
    assert done.exit_code == 1
    assert "start the daemon" in done.stderr
