"""`orchestrator check`."""

import json
from pathlib import Path

from fakes.control_server import command

from orchestrator.errors import ExitCode

AGENTS = [
    {"agentId": "work", "llmProvider": "demo"},
    {"agentId": "home", "llmProvider": "demo"},
]
BINDINGS = [
    {"channel": "console", "chatId": "123", "agentId": "work"},
    {"channel": "console", "chatId": "9", "threadId": "7", "agentId": "work"},
    {"channel": "console", "chatId": "*", "agentId": "home"},
]


def write(folder: Path, **fields: object) -> Path:
    """An agents.json with the agents and bindings above, changed by ``fields``."""
    path = folder / "agents.json"
    path.write_text(json.dumps({"agents": AGENTS, "bindings": BINDINGS} | fields), "utf-8")
    return path


def test_sound_file_is_summed_up_in_one_line(tmp_path: Path) -> None:
    """The home's own file is checked when none is named."""
    write(tmp_path)
    checked = command(tmp_path, "check")
    assert checked.exit_code == 0
    assert checked.stdout == "agents.json: 2 agents, 3 bindings, no errors\n"


def test_broken_skill_is_an_error_with_its_line(tmp_path: Path) -> None:
    """It is told like a problem of agents.json."""
    write(tmp_path)
    skill = tmp_path / "skills" / "tea" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: tea\ndescription: [d\n---\nBoil.\n", "utf-8")
    checked = command(tmp_path, "check")
    assert checked.exit_code == ExitCode.CONFIG
    assert checked.stdout.startswith(f"{skill}:4: ")
    assert checked.stdout.splitlines()[-2:] == [
        "agents.json: 2 agents, 3 bindings, no errors",
        "other files: 1 error",
    ]


def test_file_that_is_no_json_is_said_to_be_of_no_use(tmp_path: Path) -> None:
    """Nothing in it is counted."""
    (tmp_path / "agents.json").write_text("{", "utf-8")
    checked = command(tmp_path, "check")
    assert checked.exit_code == ExitCode.CONFIG
    assert checked.stdout.endswith("agents.json: cannot be used, 1 error\n")


def test_every_error_is_named_with_its_line_and_the_exit_code_is_78(tmp_path: Path) -> None:
    """The summary counts what is left of the agents."""
    broken = [AGENTS[0], {"agentId": "../x", "llmProvider": "demo"}, {"agentId": "y", "model": 3}]
    path = write(tmp_path, agents=broken)
    checked = command(tmp_path, "check", str(path))
    *problems, summary = checked.stdout.splitlines()
    assert checked.exit_code == ExitCode.CONFIG
    assert len(problems) >= 3
    assert all(line.startswith("agents.json:1: ") for line in problems)
    assert summary == f"agents.json: 1 agent, 3 bindings, {len(problems)} errors"


def test_file_with_secrets_that_others_may_read_is_told(tmp_path: Path) -> None:
    """agents.json counts only if it holds some; token files always."""
    path = write(tmp_path)
    path.chmod(0o644)
    assert "others may read" not in command(tmp_path, "check").stdout
    (tmp_path / "api-token").write_text("x")
    (tmp_path / "api-token").chmod(0o640)
    write(tmp_path, agents=[{**AGENTS[0], "env": {"WIKI_KEY": "gsk_1"}}, AGENTS[1]])
    checked = command(tmp_path, "check")
    assert checked.exit_code == 0
    assert (
        "agents.json: warning: others may read this file (mode 644), and it holds secrets (env of"
        f" agent 'work'); run: chmod 600 {path}\n"
    ) in checked.stdout
    assert "api-token: warning: others may read this file (mode 640)" in checked.stdout
    assert "gsk_1" not in checked.stdout
    path.chmod(0o600)
    (tmp_path / "api-token").chmod(0o600)
    assert "others may read" not in command(tmp_path, "check").stdout


def test_json_carries_every_problem(tmp_path: Path) -> None:
    """For editors and pipelines, also for a file that is not JSON."""
    (tmp_path / "agents.json").write_text("{", "utf-8")
    checked = command(tmp_path, "check", "--json")
    report = json.loads(checked.stdout)
    assert checked.exit_code == ExitCode.CONFIG
    assert (report["agents"], report["bindings"]) == (0, 0)
    assert report["problems"][0]["line"] == 1
    assert report["problems"][0]["severity"] == "error"


def test_control_characters_of_a_file_do_not_reach_the_terminal(tmp_path: Path) -> None:
    """A name from the file is shown, never obeyed."""
    path = write(tmp_path, **{"\x1b[2J": 1})
    checked = command(tmp_path, "check", str(path))
    assert "unknown field" in checked.stdout
    assert "\x1b" not in checked.stdout


def test_file_of_keys_is_checked(tmp_path: Path) -> None:
    """A wrong line of it is an error; no value is shown."""
    write(tmp_path)
    keys = tmp_path / "keys.env"
    keys.write_text("GROQ_API_KEY=canary\n", "utf-8")
    keys.chmod(0o600)
    assert command(tmp_path, "check").stdout.endswith("no errors\n")
    keys.write_text("GROQ_API_KEY canary\n", "utf-8")
    checked = command(tmp_path, "check")
    assert checked.exit_code == ExitCode.CONFIG
    assert f"{keys}:1: is not NAME=value" in checked.stdout
    assert "canary" not in checked.stdout


def test_warning_of_a_name_is_no_failure(tmp_path: Path) -> None:
    """It is counted apart from the errors."""
    misspelt = {**BINDINGS[0], "channel": "consol"}
    path = write(tmp_path, bindings=[*BINDINGS, misspelt])
    checked = command(tmp_path, "check", str(path))
    assert checked.exit_code == 0
    assert checked.stdout.splitlines()[-1].endswith("no errors, 1 warning")
