"""The tasks that skill files define, and which agent runs each.

A skill of an agent's own folder runs for that agent, and one of the shared folders once: for the
agent that its metadata names, or else for the first that may use it.
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
from orchestrator.agentsfile.problems import Severity, path_text, suggestion
from orchestrator.schedules.normalize import normalize
from orchestrator.schedules.specs import Notify, TaskSpec, from_fields
from orchestrator.schedules.times import ScheduleError
from orchestrator.settings import Settings
from thinker.formats.regular_file import FileError, Folder
from thinker.formats.skill_file import FILE_NAME, SkillFile, SkillProblem, line_of, scan
from thinker.protocol.messages import JsonObject

TRIGGER = ("metadata", "trigger_config")


@dataclass(frozen=True)
class SkillSet:
    """The skills that all agents share, and those of single agents by their ids."""

    shared: Mapping[str, SkillFile]
    own: Mapping[str, Mapping[str, SkillFile]]
    problems: tuple[SkillProblem, ...]

    @classmethod
    def read(cls, settings: Settings, agents: AgentsFile) -> "SkillSet":
        """Read the skills of the enabled agents."""
        shared, problems = scan(settings.paths.skill_directories("")[:-1])
        own: dict[str, Mapping[str, SkillFile]] = {name: {} for name in agents.usable()}
        for agent_id, folder in own_folders(settings, agents).items():
            found, wrong = scan((folder,))
            own[agent_id] = _by_name(found)
            problems += wrong
        return cls(_by_name(shared), own, problems)

    def seen_by(self, agent: AgentDefinition) -> dict[str, SkillFile]:
        """Return the skills that an enabled agent may use, by name."""
        skills = {**self.shared, **self.own[agent.agent_id]}
        return {name: skill for name, skill in skills.items() if _may_use(agent, skill)}

    def every(self) -> Iterator[SkillFile]:
        yield from self.shared.values()
        for skills in self.own.values():
            yield from skills.values()


@dataclass
class SkillTasks:
    """The tasks of each enabled agent by name, each with a hash of its definition.

    ``now`` is in milliseconds; ``zone`` is the time zone of agents without one; ``fast`` tasks may
    be due more than once a minute.
    """

    agents: AgentsFile
    now: int
    zone: str
    fast: bool = False
    by_agent: dict[str, dict[str, tuple[str, TaskSpec]]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def plan(self, skills: SkillSet) -> None:
        """Choose the agent of each scheduled skill, and note what cannot be scheduled."""
        usable = [agent for agent in self.agents.agents if agent.enabled]
        self.by_agent = {agent.agent_id: {} for agent in usable}
        for agent in usable:
            for skill in skills.own[agent.agent_id].values():
                if skill.trigger_config is not None and _may_use(agent, skill):
                    self._add(skill, agent)
        for skill in skills.shared.values():
            if skill.trigger_config is None:
                continue
            able = [
                agent
                for agent in usable
                if _may_use(agent, skill) and skill.name not in skills.own[agent.agent_id]
            ]
            runner = self._runner(skill, able)
            if runner is not None and self._add(skill, runner) and len(able) > 1:
                self._note_choice(skill, runner, len(able))

    def _runner(self, skill: SkillFile, able: list[AgentDefinition]) -> AgentDefinition | None:
        """Return the agent that runs a shared skill; None if there is none."""
        if skill.agent is None:
            if not any(_may_use(agent, skill) for agent in self.agents.agents if agent.enabled):
                message = 'has a schedule, but no agent may use it; see their "skills"'
                self._note(skill, TRIGGER, message, warning=True)
            return able[0] if able else None
        found = next((agent for agent in able if agent.agent_id == skill.agent), None)
        if found is None:
            known = [agent.agent_id for agent in able]
            advice = suggestion(skill.agent, known, "name one that is enabled and may use it")
            place = ("metadata", "agent")
            self._note(skill, place, f"no agent '{skill.agent}' can run its schedule{advice}")
        return found

    def _note_choice(self, skill: SkillFile, runner: AgentDefinition, able: int) -> None:
        """Warn of a choice that the skill does not make itself."""
        if skill.agent is None:
            self._note(
                skill,
                TRIGGER,
                f"runs by schedule for the agent '{runner.agent_id}', the first of {able} that may"
                " use it; name one with 'agent' in 'metadata'",
                warning=True,
            )

    def _add(self, skill: SkillFile, agent: AgentDefinition) -> bool:
        """Add the task of a skill; return whether its schedule can be used."""
        zone = agent.timezone or self.zone
        fields, notify = skill_fields(skill), _notify(agent)
        try:
            given = normalize(fields, self.now, agent.agent_id)
            spec = from_fields(given, zone, notify, self.now, fast=self.fast)
        except ScheduleError as error:
            self._note(skill, TRIGGER, f"its schedule cannot be used: {error}")
            return False
        source = [fields, zone, notify and notify.model_dump()]
        digest = hashlib.sha256(orjson.dumps(source)).hexdigest()
        self.by_agent[agent.agent_id][skill.name] = digest, spec
        return True

    def _note(
        self, skill: SkillFile, place: tuple[str, ...], message: str, *, warning: bool = False
    ) -> None:
        self.problems.append(skill_problem(skill, place, message, warning=warning))


def own_folders(settings: Settings, agents: AgentsFile) -> dict[str, Path]:
    """Return where the own skills of each enabled agent are, if it has any folder of its own."""
    folder, usable = settings.paths.personas, agents.usable()
    with suppress(FileError):  # reported by the scans
        usable &= set(Folder(folder).names())
    return {agent_id: folder / agent_id / "skills" for agent_id in sorted(usable)}


def skill_problem(
    skill: SkillFile, place: Sequence[str | int], message: str, *, warning: bool = False
) -> Problem:
    """Return a problem of the field at ``place`` of a skill that is loaded."""
    file = str(skill.path or f"{skill.name}/{FILE_NAME}")
    severity: Severity = "warning" if warning else "error"
    text = f"skill '{skill.name}': {message}"
    return Problem(severity, file, line_of(skill, place), None, path_text(place), text)


def _by_name(skills: tuple[SkillFile, ...]) -> dict[str, SkillFile]:
    return {skill.name: skill for skill in skills}


def _may_use(agent: AgentDefinition, skill: SkillFile) -> bool:
    return any(fnmatchcase(skill.name, glob) for glob in agent.skills)


def _notify(definition: AgentDefinition) -> Notify | None:
    """Return the chat for outcomes of tasks: the one that the agent's cost controls name."""
    controls = definition.cost_controls
    if controls is None or controls.notify_chat_id is None:
        return None
    return Notify(channel=controls.notify_channel or "telegram", chat_id=controls.notify_chat_id)


def skill_fields(skill: SkillFile) -> JsonObject:
    """Return the task fields of a SKILL.md, before `normalize`."""
    tools: list[JsonValue] = list(skill.required_tools)
    return {
        "name": skill.name,
        "instructions": skill.instructions or skill.description,
        "trigger_config": skill.trigger_config,
        "max_steps": skill.max_steps,
        "execution_plan": list(skill.execution_plan),
        **({"required_tools": tools} if tools else {}),
    }
