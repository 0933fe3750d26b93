"""Turn the schedules of skill files into tasks, and choose the agent of each.

A skill of an agent's own folder runs for that agent, and one of the shared folders once: for the
agent that its metadata names, or for the first that may use it.

Where: does the schedule of a skill become a task?
"""

import hashlib
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import orjson
from pydantic import JsonValue

from orchestrator import keys_file
from orchestrator.agentsfile import AgentDefinition, AgentsFile, Problem
from orchestrator.agentsfile.problems import suggest_name
from orchestrator.extensions.schedules.normalize import normalize_fields
from orchestrator.extensions.schedules.task_building import build_task_spec
from orchestrator.prompts.prompt_set import PromptSet
from orchestrator.prompts.skill_set import TRIGGER, SkillSet, build_skill_problem, may_use_skill
from orchestrator.schedules.specs import Notify, TaskSpec
from orchestrator.schedules.times import ScheduleError
from orchestrator.settings import Settings
from orchestrator.timezones import find_host_timezone
from thinker.formats.skill_file import SkillFile
from thinker.protocol.messages import JsonObject


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
                if skill.trigger_config is not None and may_use_skill(agent, skill):
                    self._add_task(skill, agent)
        for skill in skills.shared.values():
            if skill.trigger_config is None:
                continue
            able = [
                agent
                for agent in usable
                if may_use_skill(agent, skill) and skill.name not in skills.own[agent.agent_id]
            ]
            runner = self._choose_agent(skill, able)
            if runner is not None and self._add_task(skill, runner) and len(able) > 1:
                self._note_choice(skill, runner, len(able))

    def _choose_agent(
        self, skill: SkillFile, able: list[AgentDefinition]
    ) -> AgentDefinition | None:
        """Return the agent that runs a shared skill; None if there is none."""
        if skill.agent is None:
            if not any(
                may_use_skill(agent, skill) for agent in self.agents.agents if agent.enabled
            ):
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


def check_schedules(
    settings: Settings, agents: AgentsFile, found: PromptSet | SkillSet
) -> Sequence[Problem]:
    """Return what is wrong with the schedules of skills, as a daemon of this home reads them."""
    if not isinstance(found, SkillSet):
        return ()
    environ = keys_file.load_environment(settings.home, os.environ)
    zone, now = find_host_timezone(environ), time.time_ns() // 1_000_000
    planned = SkillTasks(agents, now, zone, fast=settings.fast_tasks)
    planned.plan_tasks(found)
    return planned.problems
