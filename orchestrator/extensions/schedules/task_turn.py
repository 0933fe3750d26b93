"""The turn of a scheduled task.

It has no history, shows nothing while it runs, and may not send: its outcome goes to the notify
chat at the end, unless there is nothing to report. A task whose plan is a single call runs it
without a model, and so is the check made that says whether a model has anything to do.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from orchestrator.agentsfile import AgentDefinition
from orchestrator.errors import WorkerError
from orchestrator.extensions.schedules import task_firing
from orchestrator.extensions.schedules.news import has_news, is_quiet_answer
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import steps
from orchestrator.journal.turns.sessions import TurnTranscript
from orchestrator.journal.turns.turns import Turn
from orchestrator.outbound.delivery import Reply
from orchestrator.schedules.specs import TaskSpec, ToolStep
from orchestrator.tools.policy import SENDING
from orchestrator.turns.outcomes import Outcome, TurnFinished
from orchestrator.turns.recipe import Recipe
from orchestrator.turns.turn_inputs import TurnInputs, gather_inputs
from orchestrator.turns.turn_services import TurnServices
from thinker.protocol.messages import AssistantMessage, ToolCall
from thinker.protocol.methods import (
    PlannedCall,
    RequestOptions,
    StepCommit,
    StopReason,
    TurnResult,
    TurnRun,
)
from thinker.protocol.peer import RpcError

if TYPE_CHECKING:
    from orchestrator.turns.turn_host import TurnHost

DIRECT = "direct"  # stands for the model in the step of a task that needs none


@dataclass
class TaskRecipe(Recipe):
    """The turn of a scheduled task."""

    shown: ClassVar[bool] = False
    limited: ClassVar[bool] = False
    spec: TaskSpec

    @classmethod
    async def load_for_turn(cls, services: TurnServices, turn: Turn) -> Self:
        run = await services.store.read(task_firing.load_task_of_turn, turn.id)
        return cls(turn, services.delivery.formats, services.inputs.clock, services, run.spec)

    def build_definition(self) -> AgentDefinition:
        """Return the agent without the tools that send, unless the plan itself sends."""
        definition = super().build_definition()
        if self.spec.direct is not None:
            return definition
        denied = (*definition.denied_tools, *SENDING)
        return definition.model_copy(update={"denied_tools": denied})

    def build_request(self, inputs: TurnInputs) -> TurnRun:
        """Build the worker's request: the task's tools and steps, without streaming."""
        run = super().build_request(inputs)
        changes = {
            "recipe": "proactive",
            "required_tools": self.spec.required_tools,
            "max_steps": self.spec.max_steps,
            "stream": False,
            "asked": RequestOptions(effort=self.spec.effort),
        }
        return run.model_copy(update=changes)

    async def run_without_worker(
        self, hosted: "Callable[[TurnInputs], TurnHost]"
    ) -> Outcome | None:
        """Run the direct tier or the check: one call, with the same policy, approvals and journal.

        A check with news returns None: the worker goes on from the call and its result.
        """
        checks, step = self.spec.direct is None, self.spec.direct or self.spec.check
        if step is None:
            return None
        store, loader = self.services.store, self.services.inputs
        facts = loader.collect_facts(self.turn)
        inputs = await store.transact(gather_inputs, self.turn, self.build_definition(), facts)
        recorded = inputs.stored.steps
        if len(recorded) > 1:  # a worker has gone on from the check
            return None
        seq = recorded[0].calls[0].seq if recorded else await self._plan_direct_call(step)
        host = hosted(inputs)
        try:
            result = await host.call_tool(seq)
        except RpcError as error:
            if host.outcome is None:
                raise WorkerError(str(error)) from error
            return host.outcome
        news = result.is_error or has_news(result.content)
        if checks and news and not result.is_error:
            return None
        return TurnFinished(
            TurnResult(
                text=result.content if news else "",
                stop_reason=StopReason.DONE,
                steps=1,
                tools_used=(step.tool,),
                error=result.content if result.is_error else None,
            )
        )

    async def _plan_direct_call(self, step: ToolStep) -> int:
        """Commit T3 of the one call; return its number."""
        commit = StepCommit(
            turn_id=self.turn.id,
            response=AssistantMessage(
                tool_calls=(ToolCall(id=DIRECT, name=step.tool, arguments=step.parameters),)
            ),
            calls=(PlannedCall(id=DIRECT, name=step.tool, arguments=step.parameters),),
            model=DIRECT if self.spec.direct is not None else steps.IMMEDIATE,
        )
        tools, definition = self.services.inputs.tools, self.build_definition()
        offered = tools.list_offered_tools(definition)
        commit, classes = tools.prepare_calls(commit, definition, offered)
        args = commit, classes, self.turn.epoch, self.clock()
        return (await self.services.store.transact(steps.plan, *args)).call_seqs[0]

    def commit_reply(
        self, db: Database, result: TurnResult, now: int, known: TurnTranscript | None = None
    ) -> Reply | None:
        """Commit T6; an outcome that says nothing is kept and goes to no chat."""
        no_model = self.spec.direct is not None or self.spec.check is not None
        says_nothing = is_quiet_answer(result.text) or (no_model and not result.text.strip())
        if result.error is not None or not says_nothing:
            return super().commit_reply(db, result, now, known)
        self._close_turn(db, result, [], "direct", now, known)
        return None

    def clean_up(self) -> None:
        self.services.task_ended()
