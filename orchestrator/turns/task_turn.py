"""The turn of a scheduled task.

It has no history, shows nothing while it runs, and may not send: its outcome goes to the notify
chat at the end. A task whose plan is a single call runs it without a model.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from orchestrator.agentsfile import AgentDefinition
from orchestrator.errors import WorkerError
from orchestrator.journal.schedule import task_runs
from orchestrator.journal.turns import steps
from orchestrator.journal.turns.turns import Turn
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
        run = await services.store.read(task_runs.load_task_of_turn, turn.id)
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
        """Run the direct tier: one call, with the same policy, approvals and journal."""
        step = self.spec.direct
        if step is None:
            return None
        store, loader = self.services.store, self.services.inputs
        facts = loader.collect_facts(self.turn)
        inputs = await store.transact(gather_inputs, self.turn, self.build_definition(), facts)
        recorded = inputs.stored.steps
        seq = recorded[0].calls[0].seq if recorded else await self._plan_direct_call(step)
        host = hosted(inputs)
        try:
            result = await host.call_tool(seq)
        except RpcError as error:
            if host.outcome is None:
                raise WorkerError(str(error)) from error
            return host.outcome
        return TurnFinished(
            TurnResult(
                text=result.content,
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
            model=DIRECT,
        )
        tools, definition = self.services.inputs.tools, self.build_definition()
        offered = tools.list_offered_tools(definition)
        commit, classes = tools.prepare_calls(commit, definition, offered)
        args = commit, classes, self.turn.epoch, self.clock()
        return (await self.services.store.transact(steps.plan, *args)).call_seqs[0]

    def clean_up(self) -> None:
        self.services.task_ended()
