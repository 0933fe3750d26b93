"""The turn of a subagent, in a process that lives as long as the turn.

The process is the parent's with fewer tools and a minimal prompt; it is sent the task and nothing
else. The result is recorded with the parent's call in the transaction that ends the turn.
"""

from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Self

import anyio

from orchestrator import chat_texts
from orchestrator.agentsfile import AgentDefinition
from orchestrator.errors import QuarantinedError, UnknownAgentError
from orchestrator.home_paths import bundled
from orchestrator.journal.db.database import Database
from orchestrator.journal.schedule import task_runs
from orchestrator.journal.turns import sessions, steps, subagents, transcript, turns
from orchestrator.journal.turns.outbox import Address
from orchestrator.journal.turns.subagents import SubagentRun, SubagentSpec
from orchestrator.journal.turns.turns import Turn
from orchestrator.processes.launch import build_launch_spec, resolve_endpoint
from orchestrator.processes.worker import Worker
from orchestrator.tools import policy
from orchestrator.tools.builtin.agent_tools import NOTIFY
from orchestrator.turns.outcomes import Outcome, failed
from orchestrator.turns.recipe import Recipe
from orchestrator.turns.turn_host import TurnHost, TurnServices
from orchestrator.turns.turn_inputs import TurnInputs
from thinker.formats.prompts.tooluse import NOTIFY_PARENT
from thinker.protocol.environments import Environments
from thinker.protocol.methods import StopReason, TurnResult, TurnRun
from thinker.protocol.names import turn_name

# Subagents start no subagents, so they have no prompts as tools either; and a task would run with
# all rights of the parent.
WITHHELD = ("spawn_subagent", "schedule_task")


class SubagentRecipe(Recipe):
    """The turn of a subagent."""

    shown = False
    limited = False

    def __init__(self, services: TurnServices, turn: Turn, run: SubagentRun) -> None:
        super().__init__(services, turn)
        self._run = run

    @classmethod
    async def of(cls, services: TurnServices, turn: Turn) -> Self:
        return cls(services, turn, await services.store.read(subagents.of_turn, turn.id))

    def definition(self) -> AgentDefinition:
        """Return the parent as it is configured now, cut down to what its call asked for."""
        if self._run.spec.agent is not None:
            return self._other_agent(self._run.spec.agent)
        parent, inputs = super().definition(), self._services.inputs
        prompts = inputs.prompts.tools(parent)
        every = (tool.name for tool in inputs.tools.offered(parent))
        offered = tuple(name for name in every if name not in prompts)
        return derive(parent, self._run.subagent_id, self._run.spec, offered)

    def _other_agent(self, agent_id: str) -> AgentDefinition:
        """Return another agent as it is configured now.

        It keeps its own tools, except those that the call's turn was denied.
        """
        inputs, spec = self._services.inputs, self._run.spec
        found = inputs.definition(agent_id)
        allowed = (*found.allowed_tools, NOTIFY_PARENT) if found.allowed_tools else ()
        prompts = inputs.prompts.tools(found)
        changes = {
            "agent_id": self._run.subagent_id,
            "port": None,
            "allowed_tools": allowed,
            "denied_tools": (*found.denied_tools, *spec.denied_tools, *WITHHELD, *prompts),
        }
        return found.model_copy(update=changes)

    def worker(self, definition: AgentDefinition) -> AbstractAsyncContextManager[Worker]:
        """Define the subagent's process and return it."""
        supervisor, inputs = self._services.supervisor, self._services.inputs
        parent, spec = self.turn.agent_id, self._run.spec
        configured = spec.agent or parent
        slot = supervisor.slots.get(configured)
        if slot is None:
            raise UnknownAgentError(configured)
        environ, settings = self._services.environ, self._services.settings
        # A prompt that names no model has the agent's own, not that of the prompt that calls it.
        inherited = (slot.spec.own if spec.prompt else None) or slot.spec.endpoint
        endpoint = replace(inherited, model=spec.model or inherited.model)
        modelled = inputs.prompts.with_model(definition, inputs.agents())
        if modelled != definition:
            definition, endpoint = modelled, resolve_endpoint(modelled, environ, ())
        templates = inputs.prompts.templates
        launch = build_launch_spec(
            *(definition, settings, endpoint, environ, templates), sandbox=slot.spec.sandbox
        )
        supervisor.define(replace(launch, parent=parent), definition.idle_timeout_minutes)
        return super().worker(definition)

    def quarantined(self, error: QuarantinedError, *, again: bool) -> Outcome:
        """End the turn: its parent must not wait for a process that keeps failing."""
        del again
        return failed(str(error), str(error))

    def environments(self, definition: AgentDefinition, address: Address) -> Environments:
        """Return its own values and those that its parent shares."""
        inputs, spec = self._services.inputs, self._run.spec
        known = super().environments(definition, address)
        parent = inputs.agents().agent(self._run.agent_id)
        if parent is None or not spec.scoped_env:
            return known
        theirs = super().environments(parent, address)
        shared = inputs.prompts.shared(parent, theirs, definition, spec.scoped_env)
        return known.model_copy(update={"thread": {**known.thread, **shared}})

    def request(self, inputs: TurnInputs, environments: Environments) -> TurnRun:
        """Return what the worker is sent: the task and the tools, without memory or skills."""
        asked = self._run.spec.allowed_tools
        offered = self._services.inputs.tools.offered(inputs.definition)
        notify = (NOTIFY.spec,) if self._run.spec.explicit else ()
        named = bool(asked) and not any("*" in pattern for pattern in asked)
        changes = {
            "recipe": "subagent",
            "profile_prompt": None,
            "memories": (),
            "playbooks": (),
            "skills": (),
            "required_tools": inputs.definition.allowed_tools if named else None,
            "stream": False,
            "tools": (*offered, *notify),
        }
        return super().request(inputs, environments).model_copy(update=changes)

    async def run_on(self, worker: Worker, run: TurnRun, host: TurnHost) -> TurnResult:
        """Let the worker run the turn until its deadline, whatever it is doing then."""
        with anyio.move_on_after(run.deadline - self._services.inputs.clock() / 1000):
            return await super().run_on(worker, run, host)
        return TurnResult(text="", stop_reason=StopReason.DEADLINE)

    def reply(self, db: Database, result: TurnResult) -> None:
        """Commit T6: the result goes to the parent's call, and no chat is sent anything."""
        turn, now, spec = self.turn, self._services.inputs.clock(), self._run.spec
        unsuccessful = result.error is not None or result.stop_reason not in task_runs.SUCCESS
        answer = result.text
        if result.stop_reason is StopReason.DEADLINE:
            answer = chat_texts.TIMED_OUT.format(minutes=f"{spec.timeout_minutes:g}")
        text = chat_texts.compose(answer, (), steps.unconfirmed(db, turn.id))
        self._close(db, result, [], "direct")
        if spec.keeps:
            kept = transcript.of_turn(db, turn.id, transcript.read(db, turn.id), answer)
            sessions.append(db, turn.session_id, turn.id, kept, now)
        subagents.end(db, turn.id, text, now, failed=unsuccessful)

    def dead_letter(self, db: Database, deaths: int, reason: str) -> None:
        """Give the task up; its parent goes on without it."""
        turn, now = self.turn, self._services.inputs.clock()
        turns.dead_letter(db, turn, reason, None, now)
        text = chat_texts.SUBAGENT_DIED.format(deaths=deaths, turn=turn_name(turn.id))
        subagents.end(db, turn.id, text, now, failed=True)

    def ended(self) -> None:
        self._services.supervisor.remove(self._run.subagent_id)


def derive(
    parent: AgentDefinition, subagent_id: str, spec: SubagentSpec, offered: tuple[str, ...]
) -> AgentDefinition:
    """Return a subagent's definition; ``offered`` are the tools that its parent has now."""
    denied = (*spec.denied_tools, *WITHHELD)
    tools = tuple(name for name in offered if policy.allowed(name, spec.allowed_tools, denied))
    return parent.model_copy(
        update={
            "agent_id": subagent_id,
            "system_prompt": (bundled("prompts") / "subagent.md").read_text("utf-8").strip(),
            "prompt": spec.prompt,
            "port": None,
            "model": spec.model or parent.model,
            "allowed_tools": tools,
            "denied_tools": () if tools else ("*",),  # an empty list of allowed tools allows all
        }
    )
