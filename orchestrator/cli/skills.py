"""``orchestrator skills``: the skills of the agents, as the daemon loads them."""

import time
from collections.abc import Iterator
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.agentsfile import AgentsFile, load
from orchestrator.cli._agents import require_agent
from orchestrator.cli._options import (
    AsJson,
    Config,
    Home,
    command_group,
    environment,
    load_settings,
)
from orchestrator.cli._tables import print_json, table
from orchestrator.control.camel_model import CamelModel
from orchestrator.control.protocol import ConfigProblem
from orchestrator.errors import JournalError
from orchestrator.inbound.skill_tasks import SkillSet, SkillTasks
from orchestrator.journal.inspect import memories
from orchestrator.journal.inspect.memories import StoredSkill
from orchestrator.journal.opening import reading
from orchestrator.prompts.skill_checks import skill_problems
from orchestrator.schedules.describe import describe
from orchestrator.settings import Settings
from orchestrator.timezones import host_timezone
from thinker.formats.skill_file import SkillFile

app = command_group("skills")


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
    """What ``skills list --json`` prints; ``problems`` are also those of files that do not load."""

    skills: tuple[SkillReport, ...]
    problems: tuple[ConfigProblem, ...]


@app.command("list")
def list_skills(
    *,
    agent: Annotated[str | None, typer.Option(help="Show only what this agent sees.")] = None,
    as_json: AsJson = False,
    config: Config = None,
    home: Home = None,
) -> None:
    """List the skills that agents see, and what is wrong with any.

    A skill comes from the program (bundled), from the folder skills of the home, from
    agents/NAME/skills in it for one agent, or from the journal, where agents store their own.
    The prompt names a skill with keywords only when a message has one of them.
    """
    settings = load_settings(home, config)
    if agent is not None:
        require_agent(settings, agent)
    report = _report(settings, agent)
    if as_json:
        print_json(report)
        return
    told = table(
        "Skills",
        ("skill", "from", "agents", "schedule", "description"),
        (
            (i.name, i.origin, ", ".join(i.agents), _schedules(i), i.description)
            for i in report.skills
        ),
    )
    if not told:
        typer.echo("no agent sees a skill")
    table(
        "Problems",
        ("severity", "where", "problem"),
        ((i.severity, f"{i.file}:{i.line}", i.message) for i in report.problems),
    )


def _report(settings: Settings, agent: str | None) -> SkillsReport:
    environ, now = environment(settings), time.time_ns() // 1_000_000
    file = load(settings.agents_file(), environ).file
    zone = host_timezone(environ)
    found = SkillSet.read(settings, file)
    planned = SkillTasks(file, now, zone, fast=settings.fast_tasks)
    planned.plan(found)
    files = _skills(settings, file, found, planned, agent)
    stored = _stored(settings, file, found, agent)
    return SkillsReport(
        skills=tuple(sorted((*files, *stored), key=lambda skill: skill.name)),
        problems=tuple(map(ConfigProblem.from_object, skill_problems(settings, file, zone, now))),
    )


def _skills(
    settings: Settings, file: AgentsFile, found: SkillSet, planned: SkillTasks, agent: str | None
) -> Iterator[SkillReport]:
    """Yield each skill that an agent sees, once."""
    seen: dict[Path | None, tuple[SkillFile, list[str]]] = {}
    for one in file.agents:
        if one.enabled and agent in (None, one.agent_id):
            for skill in found.seen_by(one).values():
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
                name: describe(task[1].parsed, task[1].zone) for name, task in tasks.items() if task
            },
        )


def _stored(
    settings: Settings, file: AgentsFile, found: SkillSet, agent: str | None
) -> Iterator[SkillReport]:
    """Yield the skills of the journal that agents may use and no file replaces."""
    rows: list[StoredSkill] = []
    with suppress(JournalError), reading(settings.journal) as db:
        rows = memories.stored_skills(db)
    for row in rows:
        owner = file.agent(row.agent_id)
        if owner is None or not owner.enabled or agent not in (None, row.agent_id):
            continue
        allowed = any(fnmatchcase(row.name, glob) for glob in owner.skills)
        if allowed and row.name not in found.seen_by(owner):
            yield SkillReport(
                name=row.name,
                description=row.description,
                agents=(row.agent_id,),
                origin=f"journal, {row.scope or 'all chats'}",
                file="",
                schedules={},
            )


def _schedules(skill: SkillReport) -> str:
    return ", ".join(f"{when}, by {agent}" for agent, when in skill.schedules.items())
