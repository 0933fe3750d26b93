"""The turn of a subagent: a turn like any other, in a process that lives as long as it does.

The process is the parent's with fewer tools and a minimal prompt; the task is all that it is told.
What it comes to is noted with the call that it belongs to, in the transaction that ends the turn.
"""

from contextlib import AbstractAsyncContextManager
from dataclasses import replace

import anyio
import apsw

from orchestrator import chat_texts
from orchestrator.agentsfile import AgentDefinition
from orchestrator.errors import QuarantinedError, UnknownAgentError
from orchestrator.journal.schedule import task_runs
from orchestrator.journal.turns import inbox, sessions, steps, subagents, transcript, turns, usage
from orchestrator.journal.turns.outbox import Address
from orchestrator.journal.turns.subagents import Spec, SubagentRun
from orchestrator.processes.launch import prepare, resolve
from orchestrator.processes.worker import Worker
from orchestrator.settings import bundled
from orchestrator.tools import policy
from orchestrator.tools.builtin.agent_tools import NOTIFY
from orchestrator.turns.turn_host import TurnHost, ended
from orchestrator.turns.turn_inputs import TurnInputs
from orchestrator.turns.turn_runner import TurnRunner
from thinker.formats.prompts.tooluse import NOTIFY_PARENT
from thinker.protocol.environments import Environments
from thinker.protocol.methods import StopReason, TurnResult, TurnRun

# Single level, so no prompts as tools either; and a task would run with all rights of the parent
# (reliability.md S27, S32).
WITHHELD = ("spawn_subagent", "schedule_task")


class SubagentTurnRunner(TurnRunner):
    """Runs one turn of a subagent."""

    _work: SubagentRun

    async def run(self) -> None:
        """Like a person's turn; its process ends with it."""
        self._work = self._services.store.read(subagents.of_turn, self._turn.id)
        try:
            await super().run()
        finally:
            self._services.supervisor.remove(self._work.subagent_id)

    def _current(self) -> AgentDefinition:
        """The parent as it is configured now, cut down to what its call asked for."""
        if self._work.spec.agent is not None:
            return self._agent(self._work.spec.agent)
        parent = super()._current()
        prompts = self._services.prompts.tools(parent)
        every = (tool.name for tool in self._services.tools.offered(parent))
        offered = tuple(name for name in every if name not in prompts)
        return derive(parent, self._work.subagent_id, self._work.spec, offered)

    def _agent(self, agent_id: str) -> AgentDefinition:
        """Another agent as it is configured now, single level as well.

        Its tools are its own, but none that the call's turn was denied.
        """
        found = self._services.agents().agent(agent_id)
        if found is None:
            raise UnknownAgentError(agent_id)
        own = {"agent_id": self._work.subagent_id, "port": None}
        withheld = (*self._work.spec.denied_tools, *WITHHELD)
        denied = (*found.denied_tools, *withheld, *self._services.prompts.tools(found))
        allowed = (*found.allowed_tools, NOTIFY_PARENT) if found.allowed_tools else ()
        tools = {"allowed_tools": allowed, "denied_tools": denied}
        return found.model_copy(update={**own, **tools})

    def _worker(self, definition: AgentDefinition) -> AbstractAsyncContextManager[Worker]:
        services, parent = self._services, self._turn.agent_id
        configured = self._work.spec.agent or parent
        slot = services.supervisor.slots().get(configured)
        if slot is None:
            raise UnknownAgentError(configured)
        endpoint = slot.spec.endpoint
        endpoint = replace(endpoint, model=self._work.spec.model or endpoint.model)
        modelled = services.prompts.with_model(definition, services.agents())
        if modelled != definition:
            definition, endpoint = modelled, resolve(modelled, services.environ, ())
        spec = prepare(definition, services.settings, endpoint, services.environ)
        services.supervisor.define(replace(spec, parent=parent), definition.idle_timeout_minutes)
        return super()._worker(definition)

    async def _quarantined(self, error: QuarantinedError) -> TurnResult | None:
        """Its parent must not wait for a process that keeps failing."""
        return ended(str(error), str(error))

    def _environments(self, definition: AgentDefinition, address: Address) -> Environments:
        """Its own, and what its parent shares; a secret of the parent's never for the text."""
        services, known = self._services, super()._environments(definition, address)
        parent = services.agents().agent(self._work.agent_id)
        if parent is None or not self._work.spec.scoped_env:
            return known
        theirs = super()._environments(parent, address)
        shared = services.prompts.shared(parent, theirs, definition, self._work.spec.scoped_env)
        return known.model_copy(update={"thread": {**known.thread, **shared}})

    def _request(self, gathered: TurnInputs, definition: AgentDefinition) -> TurnRun:
        asked = self._work.spec.allowed_tools
        offered = self._services.tools.offered(definition)
        told = (NOTIFY.spec,) if self._work.spec.explicit else ()
        named = bool(asked) and not any("*" in pattern for pattern in asked)
        return (
            super()
            ._request(gathered, definition)
            .model_copy(
                update={
                    "recipe": "subagent",
                    "profile_prompt": None,
                    "memories": (),
                    "playbooks": (),
                    "skills": (),
                    "required_tools": definition.allowed_tools if named else None,
                    "stream": False,
                    "tools": (*offered, *told),
                }
            )
        )

    async def _on(self, worker: Worker, run: TurnRun, host: TurnHost) -> TurnResult:
        """Until its deadline, whatever it is doing then."""
        with anyio.move_on_after(run.deadline - self._services.clock() / 1000):
            return await super()._on(worker, run, host)
        return TurnResult(text="", stop_reason=StopReason.DEADLINE)

    def reply(self, db: apsw.Connection, result: TurnResult) -> None:
        """T6: the result goes to its parent, and no chat is told."""
        turn, now = self._turn, self._services.clock()
        failed = result.error is not None or result.stop_reason not in task_runs.SUCCESS
        said = result.text
        if result.stop_reason is StopReason.DEADLINE:  # which ends a call that may be billed
            said = chat_texts.TIMED_OUT.format(minutes=f"{self._work.spec.timeout_minutes:g}")
        else:
            usage.release(db, turn.id)
        text = chat_texts.compose(said, (), steps.unconfirmed(db, turn.id))
        end = (result.stop_reason, result.error)
        turns.reply(db, turn, (), "direct", end, now, repaired=result.repaired)
        if self._work.spec.keeps:
            rows = inbox.of_turn(db, turn.id)
            kept = transcript.of_turn(db, turn.id, rows, said)
            sessions.append(db, turn.session_id, turn.id, kept, now)
        subagents.end(db, turn.id, text, now, failed=failed)

    def _bury(self, db: apsw.Connection, deaths: int, reason: str) -> None:
        """Its parent goes on without it."""
        turn, now = self._turn, self._services.clock()
        turns.dead_letter(db, turn, reason, None, now)
        told = chat_texts.SUBAGENT_DIED.format(deaths=deaths, turn=turn.id)
        subagents.end(db, turn.id, told, now, failed=True)


def derive(
    parent: AgentDefinition, subagent_id: str, spec: Spec, offered: tuple[str, ...]
) -> AgentDefinition:
    """A subagent's definition; ``offered`` are the tools that its parent has now."""
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
