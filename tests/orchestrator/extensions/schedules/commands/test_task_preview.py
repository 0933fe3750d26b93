"""``orchestrator tasks preview``: a scheduled skill, looked at before it runs."""

import json
from pathlib import Path

import pytest
from fakes.control_server import command

from orchestrator.errors import ExitCode

SKILL = """\
---
name: {name}
description: Looks whether anything needs attention.
metadata:
  agent: work
  trigger_config:
{trigger}
{more}---

Tell me what needs my attention.
"""
AGENTS = {
    "agents": [{"agentId": "work", "llmProvider": "demo", "timezone": "Europe/Warsaw"}],
    "bindings": [{"channel": "console", "chatId": "*", "agentId": "work"}],
}


def write(home: Path, trigger: str, more: str = "", name: str = "look") -> None:
    """A home with a scheduled skill, and no journal."""
    (home / "agents.json").write_text(json.dumps(AGENTS), "utf-8")
    folder = home / "skills" / name
    folder.mkdir(parents=True)
    indented = "".join(f"    {line}\n" for line in trigger.splitlines())
    text = SKILL.format(name=name, trigger=indented.rstrip("\n"), more=more)
    (folder / "SKILL.md").write_text(text, "utf-8")


def show(home: Path, *words: str) -> dict[str, object]:
    """The preview as JSON."""
    found: dict[str, object] = json.loads(
        command(home, "tasks", "preview", *words, "--json").stdout
    )
    return found


def test_preview_has_times_message_tools_and_place(tmp_path: Path) -> None:
    """The next five times in the agent's zone; nothing is written into the home."""
    write(tmp_path, 'schedule: "30 8 * * *"\nnotify_chat_id: 5')
    before = sorted(tmp_path.rglob("*"))
    found = show(tmp_path, "look")
    assert sorted(tmp_path.rglob("*")) == before
    times = found["next"]
    assert isinstance(times, list)
    assert len(times) == 5
    assert all(" 08:30 (Europe/Warsaw)" in time for time in times)
    assert (found["agent"], found["model"]) == ("work", "asked each time")
    assert found["message"] == "Tell me what needs my attention."
    assert "send_message" in str(found["tools"])
    assert "goes to telegram:5 once work has talked there" in str(found["outcome"])


def test_preview_says_when_no_model_is_asked(tmp_path: Path) -> None:
    """For a plan of one call, and for a check without news."""
    check = "interval_minutes: 30\ncheck: {toolName: get_profile, parameters: {path: news}}"
    write(tmp_path, check)
    shown = command(tmp_path, "tasks", "preview", "look").stdout
    assert 'check     get_profile {"path": "news"} runs first; without news the run ends' in shown
    assert "orchestrator prompt show work" in shown
    write(tmp_path, "interval_minutes: 60", "  execution_plan: [{toolName: get_time}]\n", "time")
    assert show(tmp_path, "time")["model"] == "none: its plan is the one call get_time"


def test_once_is_one_time(tmp_path: Path) -> None:
    """There is no second one."""
    write(tmp_path, 'at: "2099-02-12T09:00"')
    assert show(tmp_path, "look")["next"] == ["Thu 2099-02-12 09:00 (Europe/Warsaw)"]


@pytest.mark.parametrize(
    ("trigger", "name", "code", "said"),
    [
        ("interval_minutes: 30", "lok", ExitCode.USAGE, 'did you mean "look"?'),
        ("interval_minutes: soon", "look", ExitCode.FAILED, "SKILL.md:6: skill 'look': its sched"),
        ("interval_minutes: 30\ncheck: x", "look", ExitCode.FAILED, "check: needs a toolName"),
    ],
)
def test_what_cannot_be_shown_is_explained(
    trigger: str, name: str, code: ExitCode, said: str, tmp_path: Path
) -> None:
    """An unknown name, and a schedule that cannot be used."""
    write(tmp_path, trigger)
    refused = command(tmp_path, "tasks", "preview", name)
    assert refused.exit_code == code
    assert said in refused.stderr
