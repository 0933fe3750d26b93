"""Find settings of skill files without effect, and skills that are not found."""

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from orchestrator.agentsfile import AgentsFile, Problem
from orchestrator.agentsfile.problems import suggest_name
from orchestrator.extensions.advice.unread_files import check_skill_names
from orchestrator.prompts.prompt_tools import KnownTools
from orchestrator.prompts.skill_set import (
    TRIGGER,
    SkillSet,
    build_skill_problem,
    list_own_folders,
)
from orchestrator.schedules import task_fields
from orchestrator.settings import Settings
from thinker.formats.regular_file import FileError, Folder, read_identity
from thinker.formats.skill_file import FILE_NAME, KNOWN_METADATA, TRIGGER_FIELDS, SkillFile

FILE = "agents.json"
MAX_SHOWN = 5  # skills of a collection that a message names
IN_TRIGGER = frozenset(
    {*task_fields.ALIASES, *task_fields.NESTED, *task_fields.FLAGS, *task_fields.LISTS}
    | {*task_fields.MISFIRE, "notify_channel", "notify_chat_id", "notify_interval_minutes"}
    | {"type", "check"}
)


def check_skills(settings: Settings, agents: AgentsFile, skills: SkillSet) -> Iterator[Problem]:
    """Yield a problem for each ignored part of a skill, and for skills that are not found."""
    tools = KnownTools.from_file(agents)
    yield from _check_skill_globs(agents, skills)
    for skill in skills.iter_skills():
        yield from _check_ignored_fields(skill, tools)
    for folder in (settings.paths.skills, *list_own_folders(settings, agents).values()):
        yield from _check_folder_depth(folder)
        yield from check_skill_names(folder)


def _check_ignored_fields(skill: SkillFile, tools: KnownTools) -> Iterator[Problem]:
    """Yield the fields of a skill that this program ignores or reads otherwise."""
    for field, note in skill.notes:
        path = ("metadata", field) if field in KNOWN_METADATA else (field,)
        yield build_skill_problem(skill, path, note, warning=True)
    for field in skill.unread:
        parent, _, name = field.rpartition(".")
        advice = _suggest_field_fix(parent, name)
        if advice is not None:
            path = (parent, name) if parent else (name,)
            message = f'"{field}" has no effect{advice}'
            yield build_skill_problem(skill, path, message, warning=True)
    for name in sorted((skill.trigger_config or {}).keys() - IN_TRIGGER):
        message = f'"trigger_config.{name}" is unknown{suggest_name(name, IN_TRIGGER)}'
        yield build_skill_problem(skill, (*TRIGGER, name), message, warning=True)
    yield from _check_skill_tools(skill, tools)


def _check_skill_globs(agents: AgentsFile, skills: SkillSet) -> Iterator[Problem]:
    """Yield an agent's ``skills`` globs that match no skill."""
    for agent in agents.agents:
        names = {*skills.shared, *skills.own.get(agent.agent_id, {})}
        for glob in agent.skills if agent.enabled else ():
            if glob != "*" and not any(fnmatchcase(name, glob) for name in names):
                message = f"agent '{agent.agent_id}': no skill is called '{glob}'"
                message += suggest_name(glob, names)
                yield Problem("warning", FILE, 0, agent.agent_id, message, path="skills")


def _check_skill_tools(skill: SkillFile, tools: KnownTools) -> Iterator[Problem]:
    """Yield the tools that a skill needs and no server offers.

    Those of the field "allowed-tools" are often names of another program.
    """
    own = skill.required_tools if skill.required_tools != skill.allowed_tools else ()
    needed: list[tuple[str, tuple[str, ...]]]
    needed = [(name, ("metadata", "required_tools")) for name in own]
    steps = (step.get("toolName") or step.get("tool") for step in skill.execution_plan)
    needed += [(str(name), ("metadata", "execution_plan")) for name in steps if name]
    check = (skill.trigger_config or {}).get("check")
    if isinstance(check, dict) and (name := check.get("toolName") or check.get("tool")):
        needed.append((str(name), (*TRIGGER, "check")))
    for name, place in needed:
        if name not in tools:
            advice = suggest_name(name, tools.names, "add its MCP server or remove it")
            message = f"it needs the unknown tool '{name}'{advice}"
            yield build_skill_problem(skill, place, message, warning=True)


def _suggest_field_fix(parent: str, name: str) -> str | None:
    """Suggest how to fix a field that is not read; None if the field may be another program's."""
    if not parent and name in TRIGGER_FIELDS:
        return '; indent it below "trigger_config", and that below "metadata"'
    if not parent:
        return '; indent it below "metadata"'
    if name in task_fields.NESTED or name in task_fields.ALIASES:
        return '; indent it below "trigger_config"'
    near = suggest_name(name, KNOWN_METADATA, "")
    return near if near != "; " else None


def _check_folder_depth(folder: Path) -> Iterator[Problem]:
    """Yield a problem for each folder whose skills are one level too deep."""
    for path in _list_folders(folder):
        if read_identity(path / FILE_NAME) is None:
            deeper = [
                inner
                for child in _list_folders(path)
                for inner in (child, *_list_folders(child))
                if read_identity(inner / FILE_NAME) is not None
            ]
            if deeper:
                yield Problem(
                    "warning", str(path), 0, None, _format_move_advice(folder, path, deeper)
                )


def _format_move_advice(folder: Path, path: Path, deeper: Iterable[Path]) -> str:
    names = [str(inner.relative_to(path)) for inner in deeper]
    shown = ", ".join(names[:MAX_SHOWN]) + (", …" if len(names) > MAX_SHOWN else "")
    return f"its skills are too deep to be found: {shown}; move each folder to {folder}"


def _list_folders(folder: Path) -> Iterator[Path]:
    try:
        yield from (
            path for name in Folder(folder).list_names() if (path := folder / name).is_dir()
        )
    except (FileError, OSError):  # reported where skills are read
        return
