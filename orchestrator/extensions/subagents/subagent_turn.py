"""The turn of a subagent, in a process that lives as long as the turn.

The process is the parent's with fewer tools and a minimal prompt; it receives only the task. The
result is recorded with the parent's call in the transaction that ends the turn.
"""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import anyio

from orchestrator import chat_texts
from orchestrator.agentsfile import AgentDefinition
from orchestrator.errors import QuarantinedError
from orchestrator.extensions.subagents.subagent_process import (
    build_subagent_definition,
    define_subagent,
    list_subagent_tools,
)
from orchestrator.journal.db.database import Database
from orchestrator.journal.schedule import task_runs
from orchestrator.journal.turns import sessions, steps, subagents, turns
from orchestrator.journal.turns.sessions import TurnTranscript
from orchestrator.journal.turns.subagents import SubagentRun
from orchestrator.journal.turns.turns import Turn
from orchestrator.processes.worker import Worker, WorkerHost
from orchestrator.turns.outcomes import Outcome, build_failure
from orchestrator.turns.recipe import Recipe
from orchestrator.turns.turn_context import TurnContext
from orchestrator.turns.turn_inputs import TurnInputs
from orchestrator.turns.turn_services import TurnServices
from thinker.protocol.environments import Environments
from thinker.protocol.methods import StopReason, TurnResult, TurnRun
from thinker.protocol.names import format_turn_name


@dataclass
class SubagentRecipe(Recipe):
    """The turn of a subagent, in one ``run`` of it."""

    shown: ClassVar[bool] = False
    limited: ClassVar[bool] = False
    run: SubagentRun

    @classmethod
    async def load_for_turn(cls, services: TurnServices, turn: Turn) -> Self:
        run = await services.store.read(subagents.load_run_of_turn, turn.id)
        return cls(turn, services.delivery.formats, services.inputs.clock, services, run)

    def build_definition(self) -> AgentDefinition:
        """Return the parent's current definition, restricted to what its call asked for."""
        return build_subagent_definition(self.services.inputs, self.run)

    def use_worker(self, definition: AgentDefinition) -> AbstractAsyncContextManager[Worker]:
        """Define the subagent's process and return it."""
        define_subagent(self.services, definition, self.run)
        return super().use_worker(definition)

    def choose_quarantine_outcome(self, error: QuarantinedError, *, again: bool) -> Outcome:
        """End the turn: the parent must not wait for a process that keeps failing."""
        del again
        return build_failure(str(error), str(error))

    def build_environments(self, context: TurnContext) -> Environments:
        """Return the subagent's own values and those that its parent shares."""
        prompts, shared = self.services.inputs.prompts.current_set, self.run.spec.scoped_env
        known = super().build_environments(context)
        parent = context.agents.find_agent(self.run.agent_id)
        if parent is None or not shared:
            return known
        theirs = super().build_environments(replace(context, definition=parent))
        values = prompts.list_shared_variables(parent, theirs, context.definition, shared)
        return known.model_copy(update={"thread": {**known.thread, **values}})

    def build_request(self, inputs: TurnInputs) -> TurnRun:
        """Build the worker's request: the task and the tools, without memory or skills."""
        spec, definition = self.run.spec, inputs.context.definition
        asked = spec.allowed_tools
        named = bool(asked) and not any("*" in pattern for pattern in asked)
        changes = {
            "recipe": "subagent",
            "profile_prompt": None,
            "memories": (),
            "playbooks": (),
            "skills": (),
            "required_tools": definition.allowed_tools if named else None,
            "stream": False,
            "tools": list_subagent_tools(self.services.inputs, definition, spec),
        }
        return super().build_request(inputs).model_copy(update=changes)

    async def run_in_worker(self, worker: Worker, run: TurnRun, host: WorkerHost) -> TurnResult:
        """Run the turn in the worker, until its deadline at the latest."""
        with anyio.move_on_after(run.deadline - self.clock() / 1000):
            return await super().run_in_worker(worker, run, host)
        return TurnResult(text="", stop_reason=StopReason.DEADLINE)

    def commit_reply(
        self, db: Database, result: TurnResult, now: int, known: TurnTranscript | None = None
    ) -> None:
        """Commit T6: the result goes to the parent's call, and no chat gets a message."""
        turn, spec = self.turn, self.run.spec
        unsuccessful = result.error is not None or result.stop_reason not in task_runs.SUCCESS
        answer = result.text
        if result.stop_reason is StopReason.DEADLINE:
            answer = chat_texts.TIMED_OUT.format(minutes=f"{spec.timeout_minutes:g}")
        text = chat_texts.compose_reply(answer, (), steps.list_unconfirmed_tools(db, turn.id))
        self._close_turn(db, result, [], "direct", now)
        if spec.keeps:
            known = known or sessions.load_transcript(db, turn.id)
            sent = "" if result.notice else result.text
            kept = sessions.build_session_messages(db, turn.id, known, sent)
            sessions.append_messages(db, turn.session_id, turn.id, kept, now)
        subagents.end_run(db, turn.id, text, now, failed=unsuccessful)

    def dead_letter_message(self, db: Database, deaths: int, reason: str) -> None:
        """Give up on the task; its parent continues without it."""
        turn, now = self.turn, self.clock()
        turns.end_as_dead_letter(db, turn, reason, None, now)
        text = chat_texts.SUBAGENT_DIED.format(deaths=deaths, turn=format_turn_name(turn.id))
        subagents.end_run(db, turn.id, text, now, failed=True)

    def clean_up(self) -> None:
        self.services.supervisor.remove_agent(self.run.subagent_id)
