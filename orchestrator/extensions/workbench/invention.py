"""Let the model of a trial make up the result of a call that was never recorded."""

from dataclasses import dataclass

import orjson

from orchestrator.errors import OrchestratorError, WorkerError
from orchestrator.extensions.workbench.recorded_turns import RecordedTurn
from orchestrator.extensions.workbench.trial_purse import RunPurse
from orchestrator.processes.worker import Worker
from thinker.protocol.messages import (
    AUTO,
    LayerRecord,
    ToolResult,
    ToolSpec,
    Usage,
    UserMessage,
)
from thinker.protocol.methods import PlannedCall, StepCommit, StepCommitted, TurnRun
from thinker.protocol.peer import FENCED, RpcError
from thinker.protocol.prompt_record import ModelSettings, PromptRecord

MOST_EXAMPLES = 3
MOST_CHARACTERS = 4_000  # of an example
WORDS = 1_000  # tokens that a made-up result may take
ORDER = """\
You stand in for a tool in a rehearsal. Answer with what the tool would return for the call below:
its result alone, in the form of the examples if there are any, without any remark."""


@dataclass(eq=False)
class SilentHost:
    """Serves a worker in a turn of one answer, and keeps it."""

    step: StepCommit | None = None

    async def commit_step(self, commit: StepCommit) -> StepCommitted:
        """Keep the answer."""
        self.step = commit
        if commit.ends is None:
            raise RpcError(FENCED, "only an answer is wanted")
        return StepCommitted(seq=1)

    async def call_tool(self, seq: int) -> ToolResult:
        """Refuse: no tool is offered."""
        raise RpcError(FENCED, f"no tool is offered, but call {seq}")

    async def take_new_messages(self) -> tuple[UserMessage, ...]:
        """Return nothing: no message joins."""
        return ()

    def show_partial_answer(self, text: str) -> None:
        """Show nothing."""


@dataclass(frozen=True, kw_only=True)
class ResultInventor:
    """Makes results up in one run of a ``turn``, with its worker and its money."""

    worker: Worker
    purse: RunPurse
    turn: RecordedTurn
    tools: dict[str, ToolSpec]
    deadline: float  # seconds since the epoch

    async def invent_result(self, call: PlannedCall) -> str:
        """Return what a tool might have returned.

        Raises:
            OrchestratorError: the model did not answer, or there is no money for it.
        """
        text, work = self._describe_call(call), f"{self.purse.work}/result"
        refused = await self.purse.reserve_call(
            Usage(prompt=len(text) // 3 + 200, completion=WORDS), work
        )
        if refused:
            raise OrchestratorError(refused)
        host = SilentHost()
        try:
            await self.worker.run_turn(self._build_run(text, work), host, self.deadline - 300)
        except WorkerError:
            if host.step is None:
                raise
        if host.step is None:
            await self.purse.release(work)
            raise OrchestratorError(f"the model made up no result of {call.name}")
        await self.purse.settle_call(host.step.model, host.step.usage, work)
        return host.step.response.content

    def _build_run(self, text: str, work: str) -> TurnRun:
        settings = ModelSettings(
            model=self.purse.model, temperature=0.0, tool_choice=AUTO, parallel=True
        )
        prompt = PromptRecord(layers=(LayerRecord(name="base", text=ORDER),), settings=settings)
        return TurnRun(
            turn_id=work,
            chat=self.turn.chat,
            messages=(UserMessage(content=text),),
            started_at=self.turn.started_at / 1000,
            deadline=self.deadline,
            given=prompt,
        )

    def _describe_call(self, call: PlannedCall) -> str:
        """Return the tool, up to three of its recorded results, and the call."""
        spec = self.tools.get(call.name)
        parts = [f"Tool: {call.name}"]
        if spec is not None:
            schema = orjson.dumps(spec.parameters).decode()
            parts.append(f"What it does: {spec.description}\nIts arguments: {schema}")
        recorded = [one for one in self.turn.calls if one.name == call.name and one.result]
        for one in recorded[:MOST_EXAMPLES]:
            said = "" if one.result is None else one.result.content[:MOST_CHARACTERS]
            parts.append(f"Example: {orjson.dumps(one.arguments).decode()}\nResult:\n{said}")
        parts.append(f"The call: {orjson.dumps(call.arguments).decode()}")
        return "\n\n".join(parts)
