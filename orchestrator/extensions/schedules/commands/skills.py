"""``orchestrator skills``: the skills of the agents, as the daemon loads them."""

import time
from collections.abc import Iterator
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.agentsfile import AgentsFile, load_agents_file
from orchestrator.cli.commands import make_command_group
from orchestrator.cli.known_agents import require_agent
from orchestrator.cli.options import (
    AsJson,
    Config,
    Home,
    load_environment,
    load_settings,
)
from orchestrator.cli.tables import Columns, print_json, print_records
from orchestrator.config_problem import Problem
from orchestrator.control.camel_model import CamelModel
from orchestrator.errors import JournalError
from orchestrator.extensions.schedules import stored_skills
from orchestrator.extensions.schedules.skill_tasks import SkillTasks
from orchestrator.extensions.schedules.stored_skills import StoredSkill
from orchestrator.journal.opening import open_for_reading
from orchestrator.prompts.skill_checks import check_skill_files
from orchestrator.prompts.skill_set import SkillSet
from orchestrator.schedules.describe import describe_trigger
from orchestrator.settings import Settings
from orchestrator.timezones import find_host_timezone
from thinker.formats.skill_file import SkillFile

app = make_command_group("skills")


class SkillReport(CamelModel):
    """One skill in ``skills list --json``.

    ``origin`` is where it is from: ``bundled``, ``home``, an agent's own folder, or the journal
    with the chat that stored it. ``schedules`` says by agent when it runs.
    """

    name: str
    description: str
    agents: tuple[str, ...]
    origin: str
    file: str
    schedules: dict[str, str]


class SkillsReport(CamelModel):
    """The output of ``skills list --json``; ``problems`` includes unreadable files'."""

    skills: tuple[SkillReport, ...]
    problems: tuple[Problem, ...]


@app.command("list")
def list_skills(
    *,
    agent: Annotated[str | None, typer.Option(help="Show only what this agent sees.")] = None,
    as_json: AsJson = False,
    config: Config = None,
    home: Home = None,
) -> None:
    """List the skills that agents see, and their problems.

    A skill is bundled, in the home's folder skills, in agents/NAME/skills there for one agent,
    or in the journal, where agents store their own. The prompt names one with keywords only if a
    message has one of them.
    """
    settings = load_settings(home, config)
    if agent is not None:
        require_agent(settings, agent)
    report = _build_skills_report(settings, agent)
    if as_json:
        print_json(report)
        return
    if not print_records("Skills", report.skills, SKILLS):
        typer.echo("no agent has any skills")
    print_records("Problems", report.problems, PROBLEMS)


def _build_skills_report(settings: Settings, agent: str | None) -> SkillsReport:
    environ, now = load_environment(settings), time.time_ns() // 1_000_000
    file = load_agents_file(settings.find_agents_file(), environ).file
    zone = find_host_timezone(environ)
    found = SkillSet.read_skills(settings, file)
    planned = SkillTasks(file, now, zone, fast=settings.fast_tasks)
    planned.plan_tasks(found)
    files = _list_file_skills(settings, file, found, planned, agent)
    stored = _list_stored_skills(settings, file, found, agent)
    return SkillsReport(
        skills=tuple(sorted((*files, *stored), key=lambda skill: skill.name)),
        problems=tuple(check_skill_files(settings, file)),
    )


def _list_file_skills(
    settings: Settings, file: AgentsFile, found: SkillSet, planned: SkillTasks, agent: str | None
) -> Iterator[SkillReport]:
    """Yield each skill that an agent sees, once."""
    seen: dict[Path | None, tuple[SkillFile, list[str]]] = {}
    for one in file.agents:
        if one.enabled and agent in (None, one.agent_id):
            for skill in found.list_for_agent(one).values():
                seen.setdefault(skill.path, (skill, []))[1].append(one.agent_id)
    for skill, agents in seen.values():
        own = skill.name in found.own[agents[0]]
        at_home = skill.path is not None and skill.path.is_relative_to(settings.paths.skills)
        tasks = {name: planned.by_agent[name].get(skill.name) for name in agents}
        yield SkillReport(
            name=skill.name,
            description=skill.description,
            agents=tuple(agents),
            origin=f"agents/{agents[0]}" if own else "home" if at_home else "bundled",
            file=str(skill.path),
            schedules={
                name: describe_trigger(task[1].parsed_trigger, task[1].zone)
                for name, task in tasks.items()
                if task
            },
        )


def _list_stored_skills(
    settings: Settings, file: AgentsFile, found: SkillSet, agent: str | None
) -> Iterator[SkillReport]:
    """Yield the skills of the journal that agents may use and no file overrides."""
    rows: list[StoredSkill] = []
    with suppress(JournalError), open_for_reading(settings.journal) as db:
        rows = stored_skills.list_stored_skills(db)
    for row in rows:
        owner = file.find_agent(row.agent_id)
        if owner is None or not owner.enabled or agent not in (None, row.agent_id):
            continue
        allowed = any(fnmatchcase(row.name, glob) for glob in owner.skills)
        if allowed and row.name not in found.list_for_agent(owner):
            yield SkillReport(
                name=row.name,
                description=row.description,
                agents=(row.agent_id,),
                origin=f"journal, {row.scope or 'all chats'}",
                file="",
                schedules={},
            )


def _format_schedules(skill: SkillReport) -> str:
    return ", ".join(f"{when}, by {agent}" for agent, when in skill.schedules.items())


SKILLS: Columns = {
    "skill": "name",
    "from": "origin",
    "agents": lambda skill: ", ".join(skill.agents),
    "schedule": _format_schedules,
    "description": "description",
}
PROBLEMS: Columns = {
    "severity": "severity",
    "where": lambda problem: f"{problem.file}:{problem.line}",
    "problem": "message",
}
