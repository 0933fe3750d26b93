"""A worker that follows the scripts of a scenario, as Thinker follows a model."""

from collections.abc import Callable, Sequence
from random import Random

import anyio
from pydantic import JsonValue

from orchestrator.selftest import fake_model
from orchestrator.selftest.ledger import Ledger
from orchestrator.selftest.loopback import ForeignJson
from orchestrator.selftest.scenario import Scenario, Script
from orchestrator.simulator.memory_wire import MemoryProcess
from thinker.protocol import background, methods
from thinker.protocol.messages import (
    AssistantMessage,
    Message,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from thinker.protocol.methods import (
    PlannedCall,
    StopReason,
    TurnEnded,
    TurnResult,
    TurnRun,
)
from thinker.protocol.peer import CANCELLED, Peer, RpcError
from thinker.protocol.turn_cache import ReceivedTurnCache

PATIENCE = 3600.0  # seconds for an answer of the supervisor
USAGE = Usage(prompt=11, completion=7)
MODEL = "openai/scripted"


class ScriptedWorker:
    """The worker's side of the wire. ``chance`` decides how long everything takes."""

    def __init__(
        self, scenario: Scenario, ledger: Ledger, chance: Random, clock: Callable[[], int]
    ) -> None:
        self._scenario = scenario
        self._ledger = ledger
        self._chance = chance
        self._clock = clock
        self._kept = ReceivedTurnCache()
        self._draining = False
        self._turns: dict[str, anyio.CancelScope] = {}

    async def serve(self, process: MemoryProcess, peer: Peer) -> None:
        """Announce readiness, then serve until the wire ends."""
        self._peer, self._process = peer, process
        peer.requests |= {
            methods.PING: self._pong,
            methods.TURN_RUN: self._run,
            background.SESSION_COMPACT: self._compact,
            background.FACTS_EXTRACT: self._extract,
        }
        peer.notifications |= {methods.TURN_CANCEL: self._cancel, methods.DRAIN: self._drain}
        await anyio.sleep(self._chance.uniform(0.01, 0.3))
        ready = methods.Ready(pid=process.pid, provider="openai", model="scripted")
        peer.notify(methods.READY, ready)
        await peer.closed.wait()

    async def _pong(self, params: JsonValue) -> None:
        del params
        if self._process.silent:
            await anyio.sleep_forever()

    def _drain(self, params: JsonValue) -> None:
        del params
        self._draining = True

    def _cancel(self, params: JsonValue) -> None:
        scope = self._turns.get(methods.TurnCancel.model_validate(params).turn_id)
        if scope is not None:
            scope.cancel()

    async def _compact(self, params: JsonValue) -> background.Compacted:
        del params
        await self._think()
        return background.Compacted(model=MODEL, usage=USAGE, summary="They wrote.")

    async def _extract(self, params: JsonValue) -> background.Extracted:
        del params
        await self._think()
        return background.Extracted(model=MODEL, usage=USAGE)

    async def _think(self) -> None:
        await anyio.sleep(self._chance.choice((0.05, 0.5, self._chance.uniform(0.1, 8.0))))
        if self._process.silent:
            await anyio.sleep_forever()

    async def _run(self, params: JsonValue) -> TurnEnded:
        turn = self._kept.whole(TurnRun.model_validate(params))
        with anyio.CancelScope() as scope:
            self._turns[turn.turn_id] = scope
            try:
                return await self._follow(turn)
            finally:
                del self._turns[turn.turn_id]
        raise RpcError(CANCELLED, f"turn {turn.turn_id} was cancelled")

    async def _follow(self, turn: TurnRun) -> TurnEnded:
        """Finish the recorded steps, then make the script's next ones."""
        said: list[Message] = [*turn.history, *turn.messages]
        script = self._scenario[turn.messages[-1].content.strip()]
        step = 0
        for recorded in turn.steps:
            if not recorded.response.tool_calls:
                return TurnEnded(result=_result(recorded.response.content))
            known = {c.seq: c.result for c in recorded.calls if c.result is not None}
            seqs = [call.seq for call in recorded.calls]
            said += [recorded.response, *await self._call(turn, seqs, known)]
            step += 1
        while True:
            if self._draining:
                return TurnEnded(result=TurnResult(text="", stop_reason=StopReason.DRAINED))
            for problem in fake_model.malformed(_as_json(said)):
                self._ledger.append("broken", problem)
            self._ledger.append("asked", script.name, step)
            await self._think()
            response = self._response(script, step)
            if not response.tool_calls:
                return await self._answer(turn, script, response)
            committed = await self._peer.call(
                *(methods.STEP_COMMIT, _step(turn, response), methods.StepCommitted),
                timeout=PATIENCE,
            )
            results = await self._call(turn, committed.call_seqs, committed.results)
            said += [response, *results]
            step += 1

    async def _answer(self, turn: TurnRun, script: Script, response: AssistantMessage) -> TurnEnded:
        if turn.stream:
            shown = ""
            for part in script.parts():
                shown += part
                delta = methods.TurnDelta(turn_id=turn.turn_id, text=shown)
                self._peer.notify(methods.TURN_DELTA, delta)
                if script.style == "streamed":
                    await self._think()
        return TurnEnded(step=_step(turn, response, _result(response.content)))

    def _response(self, script: Script, step: int) -> AssistantMessage:
        if step >= len(script.steps):
            return AssistantMessage(content="".join(script.parts()))
        calls = tuple(
            ToolCall(
                id=f"call_{script.name}_{step}_{number}",
                name=tool,
                arguments=script.arguments(step, tool, self._clock() / 1000),
            )
            for number, tool in enumerate(script.steps[step])
        )
        return AssistantMessage(tool_calls=calls)

    async def _call(
        self, turn: TurnRun, seqs: Sequence[int], known: dict[int, ToolResult]
    ) -> list[ToolResult]:
        """Return the results of a step's calls, in order."""
        results = []
        for seq in seqs:
            if seq not in known:
                params = methods.ToolCallParams(turn_id=turn.turn_id, seq=seq)
                known[seq] = await self._peer.call(
                    methods.TOOL_CALL, params, ToolResult, timeout=PATIENCE
                )
            results.append(known[seq])
        return results


def _step(
    turn: TurnRun, response: AssistantMessage, ends: TurnResult | None = None
) -> methods.StepCommit:
    return methods.StepCommit(
        turn_id=turn.turn_id,
        response=response,
        calls=tuple(
            PlannedCall(id=call.id, name=call.name, arguments=call.arguments)
            for call in response.tool_calls
        ),
        usage=USAGE,
        model=MODEL,
        ends=ends,
    )


def _result(text: str) -> TurnResult:
    return TurnResult(text=text, stop_reason=StopReason.DONE, usage=USAGE, steps=1)


def _as_json(said: Sequence[Message]) -> list[ForeignJson]:
    """Return what `malformed` reads of a transcript."""
    found: list[ForeignJson] = []
    for message in said:
        if isinstance(message, UserMessage):
            found.append({"role": "user"})
        elif isinstance(message, ToolResult):
            found.append({"role": "tool", "tool_call_id": message.call_id})
        else:
            calls = [{"id": call.id} for call in message.tool_calls]
            found.append({"role": "assistant", "tool_calls": calls})
    return found
