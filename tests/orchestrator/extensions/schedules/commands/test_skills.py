"""`orchestrator skills list`: what each agent sees, and what is wrong with it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.control_server import command
from fakes.journal import job, opened

from orchestrator.errors import ExitCode
from orchestrator.journal.memory import playbooks
from orchestrator.journal.memory.memory_scope import MemoryScope
from orchestrator.journal.memory.playbooks import StoredPlaybook

AGENTS = {
    "agents": [
        {"agentId": "home", "llmProvider": "demo", "skills": ["tea", "mine"]},
        {"agentId": "work", "llmProvider": "demo", "skills": ["t*"]},
        {"agentId": "off", "llmProvider": "demo", "enabled": False},
    ]
}
STORED = StoredPlaybook(0, "", "Small talk.", "Do it.", (), 0, (), True, "turn t1", 0)  # noqa: FBT003 - rows are made so
SCHEDULE = '  agent: work\n  trigger_config:\n    schedule: "0 9 * * *"\n    timezone: UTC\n'


def write(folder: Path, name: str, metadata: str = "", description: str = "Do it.") -> None:
    """A skill in a folder of skills."""
    (folder / name).mkdir(parents=True)
    fields = f"name: {name}\ndescription: {description}\n"
    text = f"---\n{fields}{f'metadata:{chr(10)}{metadata}' if metadata else ''}---\nDo it.\n"
    (folder / name / "SKILL.md").write_text(text, "utf-8")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Two agents with a shared scheduled skill, a skill of one, and a broken one."""
    (tmp_path / "agents.json").write_text(json.dumps(AGENTS), "utf-8")
    write(tmp_path / "skills", "tea", SCHEDULE)
    write(tmp_path / "agents" / "home" / "skills", "mine", "  keywordz: x\n")
    write(tmp_path / "skills", "torn", description="[")
    return tmp_path


def test_each_skill_is_listed_once_with_its_agents_folder_and_schedule(home: Path) -> None:
    """As the daemon would load and run them."""
    report = json.loads(command(home, "skills", "list", "--json").stdout)
    found = {skill["name"]: skill for skill in report["skills"]}
    assert {name: (s["agents"], s["origin"]) for name, s in found.items()} == {
        "tea": (["home", "work"], "home"),
        "mine": (["home"], "agents/home"),
    }
    assert found["tea"]["schedules"] == {"work": "9:00 AM daily (UTC)"}
    shown = " ".join(command(home, "skills", "list").stdout.split())
    assert "tea home home, work 9:00 AM daily (UTC), by work Do it." in shown


def test_what_is_wrong_stands_below_with_file_and_line(home: Path) -> None:
    """Also of files that do not load, which no agent sees."""
    shown = command(home, "skills", "list").stdout
    assert f"{home}/agents/home/skills/mine/SKILL.md:5" in shown
    assert 'did you mean "keywords"?' in shown
    assert f"{home}/skills/torn/SKILL.md:" in shown


def test_time_zone_of_the_keys_is_that_of_schedules(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for the daemon, whose environment has them."""
    monkeypatch.delenv("USER_TIMEZONE", raising=False)
    write(home / "skills", "toast", SCHEDULE.replace("    timezone: UTC\n", ""))
    (home / "keys.env").write_text("USER_TIMEZONE=Mars/Base\n", "utf-8")
    for words in (("skills", "list"), ("check",)):
        shown = " ".join(command(home, *words).stdout.split())
        assert "unknown time zone 'Mars/Base'" in shown


def test_one_agent_can_be_chosen_and_an_unknown_one_is_refused(home: Path) -> None:
    """With the nearest name."""
    report = json.loads(command(home, "skills", "list", "--agent", "work", "--json").stdout)
    assert [skill["name"] for skill in report["skills"]] == ["tea"]
    refused = command(home, "skills", "list", "--agent", "wrk")
    assert refused.exit_code == ExitCode.USAGE
    assert "unknown agent 'wrk'; did you mean \"work\"?" in refused.stderr


def test_stored_skill_is_listed_unless_a_file_replaces_it_or_the_agent_may_not(home: Path) -> None:
    """With the chat that it is for."""
    with opened(home) as db, job(db):
        for agent, name in (("work", "talk"), ("work", "tea"), ("work", "other"), ("gone", "talk")):
            memory = MemoryScope(agent, "telegram:5", joined=False, shared=False)
            playbooks.insert_playbook(db, memory, replace(STORED, name=name), 0)
    report = json.loads(command(home, "skills", "list", "--json").stdout)
    found = {skill["name"]: skill for skill in report["skills"]}
    assert sorted(found) == ["mine", "talk", "tea"]
    assert (found["talk"]["agents"], found["talk"]["origin"]) == (["work"], "journal, telegram:5")


def test_agents_without_a_skill_are_told_so(tmp_path: Path) -> None:
    """In words."""
    only = {"agents": [{"agentId": "home", "llmProvider": "demo", "skills": []}]}
    (tmp_path / "agents.json").write_text(json.dumps(only), "utf-8")
    assert command(tmp_path, "skills", "list").stdout == "no agent has any skills\n"
