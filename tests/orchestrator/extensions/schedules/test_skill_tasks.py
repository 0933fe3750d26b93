"""The tasks that skill files define, and the agents that run them."""

from pathlib import Path

import pytest
from fakes.agents_file import validate_file
from fakes.scheduler import NOON

from orchestrator.agentsfile import AgentsFile
from orchestrator.extensions.schedules.skill_tasks import SkillTasks
from orchestrator.prompts.skill_set import SkillSet
from orchestrator.settings import Settings

DAILY = "trigger_config: {schedule: '0 8 * * *'}"


def agents(**fields: object) -> AgentsFile:
    """Two agents, ``one`` with these fields and ``two``."""
    one = {"agentId": "one", "llmProvider": "demo", **fields}
    two = {"agentId": "two", "llmProvider": "demo"}
    return validate_file({"agents": [one, two]})


def write(folder: Path, name: str, metadata: str = DAILY) -> Path:
    """Write a scheduled skill; its metadata begins in line 5."""
    path = folder / "skills" / name / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text(f"---\nname: {name}\ndescription: d\nmetadata:\n  {metadata}\n---\nDo it.\n")
    return path


def planned(home: Path, file: AgentsFile | None = None) -> SkillTasks:
    """What is planned for the agents."""
    file = file or agents()
    tasks = SkillTasks(file, NOON, "UTC")
    tasks.plan_tasks(SkillSet.read_skills(Settings(home=home), file))
    return tasks


def names(tasks: SkillTasks) -> dict[str, list[str]]:
    """The tasks of each agent."""
    return {agent_id: sorted(specs) for agent_id, specs in tasks.by_agent.items()}


def test_shared_skill_runs_once_for_the_first_agent_and_that_is_told(tmp_path: Path) -> None:
    """Each run costs; the warning says how to choose."""
    path = write(tmp_path, "brief")
    tasks = planned(tmp_path)
    assert names(tasks) == {"one": ["brief"], "two": []}
    (problem,) = map(str, tasks.problems)
    assert problem == (
        f"{path}:5: warning: skill 'brief': runs by schedule for the agent 'one', the first of 2"
        " that may use it; name one with 'agent' in 'metadata'"
    )


def test_shared_skill_runs_for_the_agent_that_it_names(tmp_path: Path) -> None:
    """Then there is nothing to tell."""
    write(tmp_path, "brief", f"{DAILY}\n  agent: two")
    tasks = planned(tmp_path)
    assert names(tasks) == {"one": [], "two": ["brief"]}
    assert tasks.problems == []


@pytest.mark.parametrize("fields", [{"enabled": False}, {"skills": ["other-*"]}])
def test_agent_that_may_not_use_a_skill_does_not_run_it(
    tmp_path: Path, fields: dict[str, object]
) -> None:
    """The next agent does; with only one left nothing is told."""
    write(tmp_path, "brief")
    tasks = planned(tmp_path, agents(**fields))
    assert names(tasks)["two"] == ["brief"]
    assert names(tasks).get("one", []) == []
    assert tasks.problems == []


def test_schedule_that_no_agent_may_run_is_told(tmp_path: Path) -> None:
    """The operator may want that; a warning says what it is."""
    path = write(tmp_path, "brief")
    file = agents(skills=["other-*"])
    alone = AgentsFile(agents=file.agents[:1])
    (problem,) = map(str, planned(tmp_path, alone).problems)
    assert problem.startswith(f"{path}:5: warning: skill 'brief': has a schedule, but no agent may")


def test_unknown_agent_of_a_skill_is_an_error_with_its_line(tmp_path: Path) -> None:
    """No other agent runs it instead."""
    path = write(tmp_path, "brief", f"{DAILY}\n  agent: twoo")
    tasks = planned(tmp_path)
    assert names(tasks) == {"one": [], "two": []}
    (problem,) = map(str, tasks.problems)
    assert problem.startswith(f"{path}:6: skill 'brief': no agent 'twoo' can run its schedule")
    assert problem.endswith('did you mean "two"?')


def test_skill_in_an_agents_own_folder_runs_for_that_agent_alone(tmp_path: Path) -> None:
    """Its shared namesake runs for another."""
    write(tmp_path, "brief")
    write(tmp_path / "agents" / "one", "brief")
    assert names(planned(tmp_path)) == {"one": ["brief"], "two": ["brief"]}


@pytest.mark.parametrize(
    ("trigger", "reason"),
    [
        ("{schedule: '61 8 * * *'}", "Invalid cron expression"),
        ("{interval_minutes: 5, timezone: Mars/Base}", "unknown time zone 'Mars/Base'"),
    ],
)
def test_schedule_that_cannot_be_used_is_an_error_with_its_line(
    tmp_path: Path, trigger: str, reason: str
) -> None:
    """The other skills keep their tasks."""
    path = write(tmp_path, "brief", f"agent: one\n  trigger_config: {trigger}")
    write(tmp_path, "tea", f"{DAILY}\n  agent: one")
    tasks = planned(tmp_path)
    assert names(tasks)["one"] == ["tea"]
    (problem,) = map(str, tasks.problems)
    assert problem.startswith(f"{path}:6: skill 'brief': its schedule cannot be used: {reason}")
