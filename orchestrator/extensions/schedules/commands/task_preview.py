"""``orchestrator tasks preview``: what a scheduled skill would do, without doing it."""

import json
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Annotated

import typer

from orchestrator.agentsfile import load_agents_file
from orchestrator.agentsfile.problems import suggest_name
from orchestrator.cli.options import AsJson, Home, load_environment, load_settings
from orchestrator.cli.output import print_text
from orchestrator.cli.tables import print_json
from orchestrator.errors import JournalError, OrchestratorError, UnknownNameError
from orchestrator.extensions.schedules.skill_tasks import SkillTasks
from orchestrator.journal.opening import open_for_reading
from orchestrator.journal.turns import sessions
from orchestrator.prompts.skill_set import SkillSet
from orchestrator.schedules.describe import describe_trigger, format_local_time
from orchestrator.schedules.specs import TaskSpec, ToolStep
from orchestrator.schedules.times import find_first_due, find_next_due
from orchestrator.settings import Settings
from orchestrator.timezones import find_host_timezone
from orchestrator.tools.policy import SENDING

SHOWN = 5  # due times


def preview(
    name: Annotated[str, typer.Argument(metavar="SKILL", help="A scheduled skill.")],
    *,
    as_json: AsJson = False,
    home: Home = None,
) -> None:
    """Show what a scheduled skill would do; nothing runs."""
    settings, now = load_settings(home), round(time.time() * 1000)
    agent_id, spec = _find_planned_task(settings, name, now)
    lines = {
        "agent": agent_id,
        "schedule": describe_trigger(spec.parsed_trigger, spec.zone),
        "next": [format_local_time(at, spec.zone) for at in _iter_due_times(spec, now)],
        "check": _describe_check(spec.check),
        "model": _describe_model(spec),
        "tools": _describe_tools(spec),
        "outcome": _describe_outcome(settings, agent_id, spec),
        "message": spec.instructions,
    }
    if as_json:
        print_json({"skill": name, **lines})
        return
    for title, value in lines.items():
        text = ", ".join(value) if isinstance(value, list) else value
        if text:
            print_text(f"{title:9} {text}")
    if spec.direct is None:
        print_text(f"\nThe rest of its prompt: orchestrator prompt show {agent_id}")


def _find_planned_task(settings: Settings, name: str, now: int) -> tuple[str, TaskSpec]:
    """Return the task of a skill file, with its agent.

    Raises:
        UnknownNameError: no skill of this name has a schedule.
        OrchestratorError: its schedule cannot be used.
    """
    environ = load_environment(settings)
    agents = load_agents_file(settings.find_agents_file(), environ).file
    planned = SkillTasks(agents, now, find_host_timezone(environ), fast=settings.fast_tasks)
    skills = SkillSet.read_skills(settings, agents)
    planned.plan_tasks(skills)
    for agent_id, tasks in planned.by_agent.items():
        if name in tasks:
            return agent_id, tasks[name][1]
    for problem in planned.problems:
        if problem.severity == "error" and f"skill '{name}'" in problem.message:
            raise OrchestratorError(str(problem))
    for broken in skills.problems:
        if f"/{name}/" in str(broken.file):
            raise OrchestratorError(f"{broken.file}:{broken.line}: {broken.message}")
    known = sorted({one for tasks in planned.by_agent.values() for one in tasks})
    hint = suggest_name(name, known, "see: orchestrator skills list")
    raise UnknownNameError(f"no skill {name!r} with a schedule{hint}")


def _iter_due_times(spec: TaskSpec, now: int) -> Iterator[int]:
    trigger, zone = spec.parsed_trigger, spec.zone
    due = find_first_due(trigger, zone, now)
    for _ in range(SHOWN):
        if due is None:
            return
        yield due
        due = find_next_due(trigger, zone, due)


def _describe_check(check: ToolStep | None) -> str:
    if check is None:
        return ""
    return f"{_format_call(check)} runs first; without news the run ends there, silently"


def _format_call(step: ToolStep) -> str:
    return f"{step.tool} {json.dumps(step.parameters)}" if step.parameters else step.tool


def _describe_model(spec: TaskSpec) -> str:
    if spec.direct is not None:
        return f"none: its plan is the one call {_format_call(spec.direct)}"
    return "asked if the check has news" if spec.check is not None else "asked each time"


def _describe_tools(spec: TaskSpec) -> str:
    if spec.direct is not None:
        return ""
    withheld = f"withheld: {', '.join(sorted(SENDING))}"
    if spec.required_tools is None:
        return f"chosen as for a message; {withheld}"
    return f"only {', '.join(spec.required_tools)}; {withheld}" if spec.required_tools else "none"


def _describe_outcome(settings: Settings, agent_id: str, spec: TaskSpec) -> str:
    if spec.notify is None:
        return "stays in 'orchestrator tasks history'; set notify_chat_id to get it in a chat"
    chat = f"{spec.notify.channel}:{spec.notify.chat_id}"
    with suppress(JournalError), open_for_reading(settings.journal) as db:
        if sessions.find_known_address(db, agent_id, spec.notify.channel, spec.notify.chat_id):
            return f"goes to {chat}"
    return f"goes to {chat} once {agent_id} has talked there; until then it stays in the history"
