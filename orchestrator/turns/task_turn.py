"""The turn of a scheduled task: a turn like any other, with the proactive recipe.

It has no history, shows nothing while it runs, and may not send: its outcome goes to the notify
chat when it has ended. A task whose plan is one call runs it without a model.
"""

import apsw

from orchestrator.agentsfile import AgentDefinition
from orchestrator.errors import WorkerError
from orchestrator.journal.schedule import task_runs
from orchestrator.journal.turns import steps
from orchestrator.schedules.specs import TaskSpec, ToolStep
from orchestrator.turns.turn_inputs import TurnInputs, TurnServices, load_inputs
from orchestrator.turns.turn_runner import TurnRunner
from thinker.protocol.messages import AssistantMessage, ToolCall
from thinker.protocol.methods import PlannedCall, StepCommit, StopReason, TurnResult, TurnRun
from thinker.protocol.peer import RpcError

WITHHELD = ("send_message", "send_telegram", "*_send_message")  # seed 002: told afterwards instead
DIRECT = "direct"  # stands for the model in the step of a task that needs none


class TaskTurnRunner(TurnRunner):
    """Runs one turn of a task."""

    _spec: TaskSpec

    async def run(self) -> None:
        """Like a person's turn; the scheduler hears when it is over."""
        try:
            await super().run()
        finally:
            self._services.tasks_changed()

    async def _attempt(self) -> TurnResult | None:
        task = self._services.store.read(task_runs.of_turn, self._turn.id)
        self._spec = task.spec
        if task.spec.direct is not None:
            return await self._call(task.spec.direct)
        return await super()._attempt()

    def _current(self) -> AgentDefinition:
        """The agent without the tools that send, unless the plan itself is to send."""
        definition = super()._current()
        if self._spec.direct is not None:
            return definition
        denied = (*definition.denied_tools, *WITHHELD)
        return definition.model_copy(update={"denied_tools": denied})

    def _request(self, gathered: TurnInputs, definition: AgentDefinition) -> TurnRun:
        return (
            super()
            ._request(gathered, definition)
            .model_copy(
                update={
                    "recipe": "proactive",
                    "required_tools": self._spec.required_tools,
                    "max_steps": self._spec.max_steps,
                    "stream": False,
                }
            )
        )

    async def _call(self, step: ToolStep) -> TurnResult:
        """The direct tier: one call, through the same policy, approvals and journal."""
        services, turn = self._services, self._turn
        definition = self._current()
        await services.tools.settled()
        gathered = await services.store.transact(load_inputs, services, turn, definition)
        address = gathered.context.messages[0].address()
        recorded = gathered.context.steps
        if recorded:
            seq = recorded[0].calls[0].seq
        else:
            seq = await services.store.transact(_plan, services, turn.id, step)
        try:
            result = await self._hosted(definition, address).call_tool(seq)
        except RpcError as error:
            raise WorkerError(str(error)) from error
        return TurnResult(
            text=result.content,
            stop_reason=StopReason.DONE,
            steps=1,
            tools_used=(step.tool,),
            error=result.content if result.is_error else None,
        )


def _plan(db: apsw.Connection, services: TurnServices, turn_id: str, step: ToolStep) -> int:
    """T3 of the one call; its number."""
    commit = StepCommit(
        turn_id=turn_id,
        response=AssistantMessage(
            tool_calls=(ToolCall(id=DIRECT, name=step.tool, arguments=step.parameters),)
        ),
        calls=(PlannedCall(id=DIRECT, name=step.tool, arguments=step.parameters),),
        model=DIRECT,
    )
    classes = services.tools.classes()
    return steps.plan(db, commit, classes, services.epoch, services.clock()).call_seqs[0]
