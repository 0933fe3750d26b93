"""The turn of a scheduled task.

It has no history, shows nothing while it runs, and may not send: its outcome goes to the notify
chat when it has ended. A task whose plan is one call runs it without a model.
"""

from collections.abc import Callable
from typing import Self

from orchestrator.agentsfile import AgentDefinition
from orchestrator.errors import WorkerError
from orchestrator.journal.schedule import task_runs
from orchestrator.journal.turns import steps
from orchestrator.journal.turns.turns import Turn
from orchestrator.prompts.prompt_tools import with_fixed_options
from orchestrator.schedules.specs import TaskSpec, ToolStep
from orchestrator.tools.policy import SENDING, side_effects
from orchestrator.turns.outcomes import Finished, Outcome
from orchestrator.turns.recipe import Recipe
from orchestrator.turns.turn_host import TurnHost, TurnServices
from orchestrator.turns.turn_inputs import TurnInputs, gather
from thinker.protocol.environments import Environments
from thinker.protocol.messages import AssistantMessage, ToolCall
from thinker.protocol.methods import PlannedCall, StepCommit, StopReason, TurnResult, TurnRun
from thinker.protocol.peer import RpcError

DIRECT = "direct"  # stands for the model in the step of a task that needs none


class TaskRecipe(Recipe):
    """The turn of a scheduled task."""

    shown = False
    limited = False

    def __init__(self, services: TurnServices, turn: Turn, spec: TaskSpec) -> None:
        super().__init__(services, turn)
        self._spec = spec

    @classmethod
    async def of(cls, services: TurnServices, turn: Turn) -> Self:
        run = await services.store.read(task_runs.of_turn, turn.id)
        return cls(services, turn, run.spec)

    def definition(self) -> AgentDefinition:
        """Return the agent without the tools that send, unless the plan itself is to send."""
        definition = super().definition()
        if self._spec.direct is not None:
            return definition
        denied = (*definition.denied_tools, *SENDING)
        return definition.model_copy(update={"denied_tools": denied})

    def request(self, inputs: TurnInputs, environments: Environments) -> TurnRun:
        """Return what the worker is sent: the task's tools and steps, and no streaming."""
        run = super().request(inputs, environments)
        changes = {
            "recipe": "proactive",
            "required_tools": self._spec.required_tools,
            "max_steps": self._spec.max_steps,
            "stream": False,
        }
        return run.model_copy(update=changes)

    async def without_worker(self, hosted: Callable[[TurnInputs], TurnHost]) -> Outcome | None:
        """Run the direct tier: one call, through the same policy, approvals and journal."""
        step = self._spec.direct
        if step is None:
            return None
        store, loader = self._services.store, self._services.inputs
        facts = loader.facts(self.turn)
        inputs = await store.transact(gather, self.turn, self.definition(), facts)
        recorded = inputs.context.steps
        seq = recorded[0].calls[0].seq if recorded else await self._plan(step)
        host = hosted(inputs)
        try:
            result = await host.call_tool(seq)
        except RpcError as error:
            if host.outcome is None:
                raise WorkerError(str(error)) from error
            return host.outcome
        return Finished(
            TurnResult(
                text=result.content,
                stop_reason=StopReason.DONE,
                steps=1,
                tools_used=(step.tool,),
                error=result.content if result.is_error else None,
            )
        )

    async def _plan(self, step: ToolStep) -> int:
        """Commit T3 of the one call; return its number."""
        commit = StepCommit(
            turn_id=self.turn.id,
            response=AssistantMessage(
                tool_calls=(ToolCall(id=DIRECT, name=step.tool, arguments=step.parameters),)
            ),
            calls=(PlannedCall(id=DIRECT, name=step.tool, arguments=step.parameters),),
            model=DIRECT,
        )
        loader, definition = self._services.inputs, self.definition()
        commit = with_fixed_options(loader.prompts.bundle_of(definition), commit)
        classes = side_effects(loader.tools.offered(definition))
        args = commit, classes, self.turn.epoch, loader.clock()
        return (await self._services.store.transact(steps.plan, *args)).call_seqs[0]

    def ended(self) -> None:
        self._services.task_ended()
