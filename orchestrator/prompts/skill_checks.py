"""Find problems of skill files: those that cannot be used, and settings without an effect."""

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from orchestrator.agentsfile import AgentsFile, Problem
from orchestrator.agentsfile.problems import suggestion
from orchestrator.hands.hand_servers import hand_tools
from orchestrator.inbound.skill_tasks import (
    TRIGGER,
    SkillSet,
    SkillTasks,
    own_folders,
    skill_problem,
)
from orchestrator.prompts.prompt_tools import KnownTools
from orchestrator.prompts.unread_files import unread_skills
from orchestrator.schedules import normalize
from orchestrator.schedules.specs import MISFIRE
from orchestrator.settings import Settings
from orchestrator.tools.builtin.catalog import TOOLS
from thinker.formats.regular_file import FileError, Folder, identity
from thinker.formats.skill_file import FILE_NAME, ITS_TRIGGER, READ, SkillFile

FILE = "agents.json"
MAX_SHOWN = 5  # skills of a collection that a message names
IN_TRIGGER = frozenset(
    {*normalize.ALIASES, *normalize.NESTED, *normalize.FLAGS, *normalize.LISTS, *MISFIRE}
    | {"notify_channel", "notify_chat_id", "notify_interval_minutes", "type"}
)


def skill_problems(
    settings: Settings, agents: AgentsFile, zone: str, now: int
) -> tuple[Problem, ...]:
    """Read all skill files and return what is wrong with them, by file.

    ``zone`` is the time zone of agents without one, ``now`` in milliseconds.
    """
    skills = SkillSet.read(settings, agents)
    planned = SkillTasks(agents, now, zone, fast=settings.fast_tasks)
    planned.plan(skills)
    servers = frozenset(agents.mcp_servers)
    tools = KnownTools(servers, hand_tools(agents))
    found = [
        *(Problem("error", p.file, p.line, None, "", p.message) for p in skills.problems),
        *planned.problems,
        *_unmatched(agents, skills),
        *(problem for skill in skills.every() for problem in _without_effect(skill, tools)),
    ]
    for folder in (settings.paths.skills, *own_folders(settings, agents).values()):
        found += (*_too_deep(folder), *unread_skills(folder))
    return tuple(sorted(found, key=lambda problem: (problem.file, problem.line)))


def _without_effect(skill: SkillFile, tools: KnownTools) -> Iterator[Problem]:
    """Yield what a skill says that this program does not understand."""
    for field in skill.unread:
        parent, _, name = field.rpartition(".")
        advice = _advice(parent, name)
        if advice is not None:
            path = (parent, name) if parent else (name,)
            message = f'"{field}" has no effect{advice}'
            yield skill_problem(skill, path, message, warning=True)
    for name in sorted((skill.trigger_config or {}).keys() - IN_TRIGGER):
        message = f'"trigger_config.{name}" is unknown{suggestion(name, IN_TRIGGER)}'
        yield skill_problem(skill, (*TRIGGER, name), message, warning=True)
    yield from _unknown_tools(skill, tools)


def _unmatched(agents: AgentsFile, skills: SkillSet) -> Iterator[Problem]:
    """Yield the globs in ``skills`` of an agent that match no skill."""
    for agent in agents.agents:
        names = {*skills.shared, *skills.own.get(agent.agent_id, {})}
        for glob in agent.skills if agent.enabled else ():
            if glob != "*" and not any(fnmatchcase(name, glob) for name in names):
                message = f"agent '{agent.agent_id}': no skill is called '{glob}'"
                message += suggestion(glob, names)
                yield Problem("warning", FILE, 0, agent.agent_id, "skills", message)


def _unknown_tools(skill: SkillFile, tools: KnownTools) -> Iterator[Problem]:
    """Yield the tools that a skill needs and nothing offers.

    Those of the field "allowed-tools" are often names of another program.
    """
    own = skill.required_tools if skill.required_tools != skill.allowed_tools else ()
    needed = [(name, ("metadata", "required_tools")) for name in own]
    steps = (step.get("toolName") or step.get("tool") for step in skill.execution_plan)
    needed += [(str(name), ("metadata", "execution_plan")) for name in steps if name]
    for name, place in needed:
        if name not in tools:
            advice = suggestion(name, (*TOOLS, *tools.hands), "add its MCP server or remove it")
            message = f"it needs the unknown tool '{name}'{advice}"
            yield skill_problem(skill, place, message, warning=True)


def _advice(parent: str, name: str) -> str | None:
    """Say what to do with a field that is not read; None: it may be another program's."""
    if not parent and name in ITS_TRIGGER:
        return '; indent it below "trigger_config", and that below "metadata"'
    if not parent:
        return '; indent it below "metadata"'
    if name in normalize.NESTED or name in normalize.ALIASES:
        return '; indent it below "trigger_config"'
    near = suggestion(name, READ, "")
    return near if near != "; " else None


def _too_deep(folder: Path) -> Iterator[Problem]:
    """Yield a problem for each folder that has no skill itself, but folders with one."""
    for path in _folders(folder):
        if identity(path / FILE_NAME) is None:
            deeper = [
                inner
                for child in _folders(path)
                for inner in (child, *_folders(child))
                if identity(inner / FILE_NAME) is not None
            ]
            if deeper:
                yield Problem("warning", str(path), 0, None, "", _move(folder, path, deeper))


def _move(folder: Path, path: Path, deeper: Iterable[Path]) -> str:
    names = [str(inner.relative_to(path)) for inner in deeper]
    shown = ", ".join(names[:MAX_SHOWN]) + (", …" if len(names) > MAX_SHOWN else "")
    return f"its skills are too deep to be found: {shown}; move each folder to {folder}"


def _folders(folder: Path) -> Iterator[Path]:
    try:
        yield from (path for name in Folder(folder).names() if (path := folder / name).is_dir())
    except (FileError, OSError):  # reported where skills are read
        return
