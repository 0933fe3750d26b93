"""A worker that follows the scripts of a scenario, as Thinker follows a model."""

from collections.abc import Sequence
from functools import partial
from random import Random

import anyio
from pydantic import JsonValue

from orchestrator.extensions.channel_folders.testing.memory_wire import MemoryProcess
from orchestrator.extensions.memory import memory_requests
from orchestrator.extensions.selftest.crash import fake_model
from orchestrator.extensions.selftest.crash.scenario import AGENTS, HANDOVER, Scenario, Script
from orchestrator.extensions.selftest.simulator.simulated_home import REVISION
from orchestrator.extensions.selftest.simulator.simulated_world import SimulatedWorld
from orchestrator.processes.child_process import Program
from orchestrator.testing.loopback import ForeignJson
from thinker.protocol import methods
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
    ReceivedTurnCache,
    StopReason,
    TurnEnded,
    TurnResult,
    TurnRun,
)
from thinker.protocol.peer import CANCELLED, Peer, RpcError

CALL_SECONDS = 3600.0  # for the supervisor's answer
USAGE = Usage(prompt=11, completion=7)
MODEL = "openai/scripted"
BOAST, NOT_DONE = "I've sent it.", "That was not done."


class ScriptedWorker:
    """The worker's side of the wire, started as ``program``.

    ``chance`` decides all durations.
    """

    def __init__(self, world: SimulatedWorld, chance: Random, program: Program) -> None:
        self._scenario = world.scenario
        self._ledger = world.ledger
        self._chance = chance
        self._clock = world.read_clock
        self._agent_id = program.env["THINKER_AGENT_ID"]
        revision = round(float(program.env["THINKER_TEMPERATURE"]) / REVISION)
        self._check_revision = partial(world.check_revision, revision)
        self._kept = ReceivedTurnCache()
        self._draining = False
        self._turns: dict[str, anyio.CancelScope] = {}

    async def serve_peer(self, process: MemoryProcess, peer: Peer) -> None:
        """Announce readiness, then serve until the wire ends."""
        self._peer, self._process = peer, process
        peer.requests |= {
            methods.PING: self._answer_ping,
            methods.TURN_RUN: self._run_turn,
            memory_requests.SESSION_COMPACT: self._compact_session,
            memory_requests.FACTS_EXTRACT: self._extract_facts,
        }
        peer.notifications |= {
            methods.TURN_CANCEL: self._cancel_turn,
            methods.DRAIN: self._begin_drain,
        }
        await anyio.sleep(self._chance.uniform(0.01, 0.3))
        ready = methods.Ready(pid=process.pid, provider="openai", model="scripted")
        peer.notify(methods.READY, ready)
        await peer.closed.wait()

    async def _answer_ping(self, params: JsonValue) -> None:
        del params
        if self._process.silent:
            await anyio.sleep_forever()

    def _begin_drain(self, params: JsonValue) -> None:
        del params
        self._draining = True

    def _cancel_turn(self, params: JsonValue) -> None:
        scope = self._turns.get(methods.TurnCancel.model_validate(params).turn_id)
        if scope is not None:
            scope.cancel()

    async def _compact_session(self, params: JsonValue) -> memory_requests.CompactionResult:
        del params
        await self._simulate_thinking()
        return memory_requests.CompactionResult(model=MODEL, usage=USAGE, summary="They wrote.")

    async def _extract_facts(self, params: JsonValue) -> memory_requests.ExtractionResult:
        """Replace the oldest known fact, if there is one, and note how far this went."""
        request = memory_requests.ExtractionRequest.model_validate(params)
        await self._simulate_thinking()
        last, known = request.messages[-1].id, [fact.id for fact in request.known]
        fact = memory_requests.ExtractedFact(
            fact=f"Message {last} was read.",
            confidence=1,
            change="replace" if known else "add",
            target=min(known, default=None),
        )
        note = memory_requests.ExtractedNote(text=f"They wrote until message {last}.")
        return memory_requests.ExtractionResult(
            model=MODEL, usage=USAGE, facts=(fact,), notes=(note,)
        )

    async def _simulate_thinking(self) -> None:
        await anyio.sleep(self._chance.choice((0.05, 0.5, self._chance.uniform(0.1, 8.0))))
        if self._process.silent:
            await anyio.sleep_forever()

    async def _run_turn(self, params: JsonValue) -> TurnEnded:
        turn = self._kept.restore_turn(TurnRun.model_validate(params))
        with anyio.CancelScope() as scope:
            self._turns[turn.turn_id] = scope
            try:
                return await self._follow_script(turn)
            finally:
                del self._turns[turn.turn_id]
        raise RpcError(CANCELLED, f"turn {turn.turn_id} was cancelled")

    async def _follow_script(self, turn: TurnRun) -> TurnEnded:
        """Finish the recorded steps, then make the next ones from the messages' scripts."""
        said: list[Message] = [*turn.history, *turn.messages]
        scripts = [self._find_script(turn.messages[-1])]
        if any(BOAST in message.content for message in turn.history):
            self._ledger.append("broken", "the history has an answer that no person has read")
        step, boasts = 0, scripts[0].boasts
        for recorded in turn.steps:
            if recorded.finish == methods.RETURNED:
                said += [recorded.response, UserMessage(content=NOT_DONE), *recorded.entered]
                step, boasts = step + 1, False
                continue
            if not recorded.response.tool_calls:
                return TurnEnded(result=_build_result(recorded.response.content))
            known = {c.seq: c.result for c in recorded.calls if c.result is not None}
            seqs = [call.seq for call in recorded.calls]
            results = await self._call_tools(turn, seqs, known)
            said += [recorded.response, *results, *recorded.entered]
            scripts += map(self._find_script, recorded.entered)
            step += 1
        while True:
            if self._draining:
                return TurnEnded(result=TurnResult(text="", stop_reason=StopReason.DRAINED))
            if turn.steer and step:
                entered = await self._ask_for_messages(turn)
                said += entered
                scripts += map(self._find_script, entered)
            self._check_request(said)
            self._ledger.append("asked", scripts[0].name, step)
            await self._simulate_thinking()
            if boasts:  # before anything else: it claims what its calls are yet to do
                step, boasts = step + 1, False
                said += await self._commit_boast(turn, scripts[0])
                continue
            response = self._build_response(scripts, step)
            if not response.tool_calls:
                return await self._answer_turn(turn, scripts, response)
            committed = await self._peer.call(
                methods.STEP_COMMIT,
                _build_step(turn, response),
                methods.StepCommitted,
                timeout=CALL_SECONDS,
            )
            results = await self._call_tools(turn, committed.call_seqs, committed.results)
            said += [response, *results]
            step += 1

    async def _commit_boast(self, turn: TurnRun, script: Script) -> tuple[Message, Message]:
        """Commit an answer that goes back to the model; return it with what the model is told."""
        response = AssistantMessage(content=f"{script.marks[0]} {BOAST}")
        back = _build_step(turn, response).model_copy(update={"finish": methods.RETURNED})
        await self._peer.call(
            methods.STEP_COMMIT, back, methods.StepCommitted, timeout=CALL_SECONDS
        )
        return response, UserMessage(content=NOT_DONE)

    async def _ask_for_messages(self, turn: TurnRun) -> tuple[UserMessage, ...]:
        """Return the messages that join the turn before its next step."""
        asked = methods.TurnSteer(turn_id=turn.turn_id)
        call = self._peer.call(
            methods.TURN_STEER, asked, methods.JoinedMessages, timeout=CALL_SECONDS
        )
        return (await call).messages

    def _find_script(self, message: UserMessage) -> Script:
        return self._scenario[message.content.strip()]

    def _check_request(self, said: Sequence[Message]) -> None:
        """Record problems of what the model would be sent, and of the sender."""
        for problem in fake_model.check_transcript(_dump_transcript(said)):
            self._ledger.append("broken", problem)
        for notice in find_foreign_words(self._scenario, said):
            self._ledger.append("broken", f"the model is told that it said {notice!r}")
        if self._agent_id not in AGENTS:
            return
        newest = max(n for n, message in enumerate(said) if isinstance(message, UserMessage))
        calls = [call for m in said[newest:] for call in getattr(m, "tool_calls", ())]
        handed = [call.name for call in calls if call.name in AGENTS]
        if handed and handed[-1] != self._agent_id:
            self._ledger.append("broken", f"{self._agent_id} went on with a turn of {handed[-1]}")
        self._check_revision()

    async def _answer_turn(
        self, turn: TurnRun, scripts: Sequence[Script], response: AssistantMessage
    ) -> TurnEnded:
        if turn.stream:
            shown = ""
            for part in _split_answer(scripts):
                shown += part
                delta = methods.TurnDelta(turn_id=turn.turn_id, text=shown)
                self._peer.notify(methods.TURN_DELTA, delta)
                if any(script.style == "streamed" for script in scripts):
                    await self._simulate_thinking()
        return TurnEnded(step=_build_step(turn, response, _build_result(response.content)))

    def _build_response(self, scripts: Sequence[Script], step: int) -> AssistantMessage:
        """Return step number ``step`` of the scripts, one after the other, or their answer."""
        step -= scripts[0].boasts
        steps = [(script, number) for script in scripts for number in range(len(script.steps))]
        if step >= len(steps):
            return AssistantMessage(content="".join(_split_answer(scripts)))
        script, number = steps[step]
        calls = tuple(
            ToolCall(
                id=f"call_{script.name}_{number}_{place}",
                name=self._other_agent if tool == HANDOVER else tool,
                arguments=script.build_arguments(number, tool, self._clock() / 1000),
            )
            for place, tool in enumerate(script.steps[number])
        )
        return AssistantMessage(tool_calls=calls)

    @property
    def _other_agent(self) -> str:
        """The agent to which this one may hand over a chat."""
        return next(agent_id for agent_id in AGENTS if agent_id != self._agent_id)

    async def _call_tools(
        self, turn: TurnRun, seqs: Sequence[int], known: dict[int, ToolResult]
    ) -> list[ToolResult]:
        """Return the results of a step's calls, in order."""
        results = []
        for seq in seqs:
            if seq not in known:
                params = methods.ToolCallParams(turn_id=turn.turn_id, seq=seq)
                known[seq] = await self._peer.call(
                    methods.TOOL_CALL, params, ToolResult, timeout=CALL_SECONDS
                )
            results.append(known[seq])
        return results


def find_foreign_words(scenario: Scenario, said: Sequence[Message]) -> list[str]:
    """Return texts in the agent's name that no script lets it say, such as a notice."""
    own = {mark for script in scenario.values() for mark in script.marks}
    return [
        message.content
        for message in said
        if isinstance(message, AssistantMessage)
        and message.content
        and not own.intersection(message.content.split())
    ]


def _build_step(
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


def _split_answer(scripts: Sequence[Script]) -> list[str]:
    """Return the pieces in which the answer to the messages of one turn is streamed."""
    first, *others = (script.split_reply() for script in scripts)
    return [*first, *(f" {part}" if not n else part for p in others for n, part in enumerate(p))]


def _build_result(text: str) -> TurnResult:
    return TurnResult(text=text, stop_reason=StopReason.DONE, usage=USAGE, steps=1)


def _dump_transcript(said: Sequence[Message]) -> list[ForeignJson]:
    """Return a transcript in the form that `check_transcript` reads."""
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
