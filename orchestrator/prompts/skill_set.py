"""The skill files of a home: those that all agents share, and those of single agents."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from orchestrator.agentsfile import AgentDefinition, AgentsFile, Problem
from orchestrator.agentsfile.problems import format_path
from orchestrator.config_problem import Severity
from orchestrator.settings import Settings
from thinker.formats.regular_file import FileError, Folder
from thinker.formats.skill_file import (
    FILE_NAME,
    SkillFile,
    SkillProblem,
    find_field_line,
    scan_skills,
)

TRIGGER = ("metadata", "trigger_config")  # place of a schedule in a SKILL.md


@dataclass(frozen=True)
class SkillSet:
    """The skills that all agents share, and those of single agents, keyed by agent id."""

    shared: Mapping[str, SkillFile]
    own: Mapping[str, Mapping[str, SkillFile]]
    problems: tuple[SkillProblem, ...]

    @classmethod
    def read_skills(cls, settings: Settings, agents: AgentsFile) -> "SkillSet":
        """Read the skills of the enabled agents."""
        shared, problems = scan_skills(settings.paths.list_skill_directories("")[:-1])
        own: dict[str, Mapping[str, SkillFile]] = {name: {} for name in agents.list_enabled_ids()}
        for agent_id, folder in list_own_folders(settings, agents).items():
            found, wrong = scan_skills((folder,))
            own[agent_id] = _index_by_name(found)
            problems += wrong
        return cls(_index_by_name(shared), own, problems)

    def list_for_agent(self, agent: AgentDefinition) -> dict[str, SkillFile]:
        """Return the skills that an enabled agent may use, keyed by name."""
        skills = {**self.shared, **self.own[agent.agent_id]}
        return {name: skill for name, skill in skills.items() if may_use_skill(agent, skill)}

    def iter_skills(self) -> Iterator[SkillFile]:
        yield from self.shared.values()
        for skills in self.own.values():
            yield from skills.values()


def list_own_folders(settings: Settings, agents: AgentsFile) -> dict[str, Path]:
    """List the folders of enabled agents' own skills."""
    folder, usable = settings.paths.personas, agents.list_enabled_ids()
    with suppress(FileError):  # reported by the scans
        usable &= set(Folder(folder).list_names())
    return {agent_id: folder / agent_id / "skills" for agent_id in sorted(usable)}


def build_skill_problem(
    skill: SkillFile, place: Sequence[str | int], message: str, *, warning: bool = False
) -> Problem:
    """Return a problem of a loaded skill's field at ``place``."""
    file = str(skill.path or f"{skill.name}/{FILE_NAME}")
    severity: Severity = "warning" if warning else "error"
    text = f"skill '{skill.name}': {message}"
    return Problem(
        severity, file, find_field_line(skill, place), None, text, path=format_path(place)
    )


def _index_by_name(skills: tuple[SkillFile, ...]) -> dict[str, SkillFile]:
    return {skill.name: skill for skill in skills}


def may_use_skill(agent: AgentDefinition, skill: SkillFile) -> bool:
    """Return whether an agent's globs permit a skill."""
    return any(fnmatchcase(skill.name, glob) for glob in agent.skills)
