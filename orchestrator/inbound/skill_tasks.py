"""Turn the schedules of skill files into tasks, and choose the agent of each.

A skill of an agent's own folder runs for that agent, and one of the shared folders once: for the
agent that its metadata names, or for the first that may use it.

Where: does the schedule of a skill become a task?
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

import orjson
from pydantic import JsonValue

from orchestrator.agentsfile import AgentDefinition, AgentsFile, Problem
from orchestrator.agentsfile.problems import format_path, suggest_name
from orchestrator.config_problem import Severity
from orchestrator.schedules.normalize import normalize_fields
from orchestrator.schedules.specs import Notify, TaskSpec, build_task_spec
from orchestrator.schedules.times import ScheduleError
from orchestrator.settings import Settings
from thinker.formats.regular_file import FileError, Folder
from thinker.formats.skill_file import (
    FILE_NAME,
    SkillFile,
    SkillProblem,
    find_field_line,
    scan_skills,
)
from thinker.protocol.messages import JsonObject

TRIGGER = ("metadata", "trigger_config")


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
        return {name: skill for name, skill in skills.items() if _may_use(agent, skill)}

    def iter_skills(self) -> Iterator[SkillFile]:
        yield from self.shared.values()
        for skills in self.own.values():
            yield from skills.values()


@dataclass
class SkillTasks:
    """The tasks of each enabled agent, keyed by name, each with a hash of its definition.

    ``now`` is in milliseconds; ``zone`` is the time zone of agents without one; ``fast`` tasks may
    be due more than once a minute.
    """

    agents: AgentsFile
    now: int
    zone: str
    fast: bool = False
    by_agent: dict[str, dict[str, tuple[str, TaskSpec]]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def plan_tasks(self, skills: SkillSet) -> None:
        """Choose the agent of each scheduled skill, and note what cannot be scheduled."""
        usable = [agent for agent in self.agents.agents if agent.enabled]
        self.by_agent = {agent.agent_id: {} for agent in usable}
        for agent in usable:
            for skill in skills.own[agent.agent_id].values():
                if skill.trigger_config is not None and _may_use(agent, skill):
                    self._add_task(skill, agent)
        for skill in skills.shared.values():
            if skill.trigger_config is None:
                continue
            able = [
                agent
                for agent in usable
                if _may_use(agent, skill) and skill.name not in skills.own[agent.agent_id]
            ]
            runner = self._choose_agent(skill, able)
            if runner is not None and self._add_task(skill, runner) and len(able) > 1:
                self._note_choice(skill, runner, len(able))

    def _choose_agent(
        self, skill: SkillFile, able: list[AgentDefinition]
    ) -> AgentDefinition | None:
        """Return the agent that runs a shared skill; None if there is none."""
        if skill.agent is None:
            if not any(_may_use(agent, skill) for agent in self.agents.agents if agent.enabled):
                message = 'has a schedule, but no agent may use it; see their "skills"'
                self._add_problem(skill, TRIGGER, message, warning=True)
            return able[0] if able else None
        found = next((agent for agent in able if agent.agent_id == skill.agent), None)
        if found is None:
            known = [agent.agent_id for agent in able]
            advice = suggest_name(skill.agent, known, "name one that is enabled and may use it")
            place = ("metadata", "agent")
            self._add_problem(
                skill, place, f"no agent '{skill.agent}' can run its schedule{advice}"
            )
        return found

    def _note_choice(self, skill: SkillFile, runner: AgentDefinition, able: int) -> None:
        """Warn about a choice that the skill should have made itself."""
        if skill.agent is None:
            self._add_problem(
                skill,
                TRIGGER,
                f"runs by schedule for the agent '{runner.agent_id}', the first of {able} that may"
                " use it; name one with 'agent' in 'metadata'",
                warning=True,
            )

    def _add_task(self, skill: SkillFile, agent: AgentDefinition) -> bool:
        """Add the task of a skill; return whether its schedule can be used."""
        zone = agent.timezone or self.zone
        fields, notify = build_task_fields(skill), _find_notify_chat(agent)
        try:
            given = normalize_fields(fields, self.now, agent.agent_id)
            spec = build_task_spec(given, zone, notify, self.now, fast=self.fast)
        except ScheduleError as error:
            self._add_problem(skill, TRIGGER, f"its schedule cannot be used: {error}")
            return False
        source = [fields, zone, notify and notify.model_dump()]
        digest = hashlib.sha256(orjson.dumps(source)).hexdigest()
        self.by_agent[agent.agent_id][skill.name] = digest, spec
        return True

    def _add_problem(
        self, skill: SkillFile, place: tuple[str, ...], message: str, *, warning: bool = False
    ) -> None:
        self.problems.append(build_skill_problem(skill, place, message, warning=warning))


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


def _may_use(agent: AgentDefinition, skill: SkillFile) -> bool:
    return any(fnmatchcase(skill.name, glob) for glob in agent.skills)


def _find_notify_chat(definition: AgentDefinition) -> Notify | None:
    """Return the chat for outcomes of tasks, from the agent's cost controls."""
    controls = definition.cost_controls
    if controls is None or controls.notify_chat_id is None:
        return None
    return Notify(channel=controls.notify_channel or "telegram", chat_id=controls.notify_chat_id)


def build_task_fields(skill: SkillFile) -> JsonObject:
    """Return the task fields of a SKILL.md, before `normalize_fields`."""
    tools: list[JsonValue] = list(skill.required_tools)
    return {
        "name": skill.name,
        "instructions": skill.instructions or skill.description,
        "trigger_config": skill.trigger_config,
        "max_steps": skill.max_steps,
        "effort": skill.effort,
        "execution_plan": list(skill.execution_plan),
        **({"required_tools": tools} if tools else {}),
    }
