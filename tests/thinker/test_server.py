"""The worker's side of the wire, against a memory host as supervisor."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import pytest
from fakes.scripted import (
    NOON,
    MemoryHost,
    ScriptedModel,
    call,
    calls,
    says,
    spec,
    turn_run,
)
from fakes.time_limit import LIMIT, time_limit
from fakes.wire import memory_pair
from pydantic import JsonValue

from thinker.agent import Agent
from thinker.jail.worker_jail import NO_JAIL
from thinker.models.base import ModelRequest, ModelResponse
from thinker.protocol import methods
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.messages import ToolResult
from thinker.protocol.methods import (
    Ready,
    StepCommit,
    StepCommitted,
    StopReason,
    ToolCallParams,
    TurnCancel,
    TurnDelta,
    TurnEnded,
    TurnResult,
)
from thinker.protocol.peer import CANCELLED, FENCED, INVALID_PARAMS, Peer, RpcError
from thinker.protocol.prompt_record import PromptPreview
from thinker.server import WorkerServer


@dataclass
class Supervisor:
    """The supervisor's view and answers; ``fenced`` refuses all commits."""

    host: MemoryHost = field(default_factory=MemoryHost)
    fenced: bool = False
    ready: list[Ready] = field(default_factory=list)
    deltas: list[TurnDelta] = field(default_factory=list)
    ended: anyio.Event = field(default_factory=anyio.Event)  # serve() returned

    async def commit(self, params: JsonValue) -> StepCommitted:
        """T3, or the refusal of a turn that belongs to another process."""
        if self.fenced:
            raise RpcError(FENCED, "turn t1 is not run by this process")
        return await self.host.commit_step(StepCommit.model_validate(params))

    async def call_tool(self, params: JsonValue) -> ToolResult:
        """T4 and T5."""
        return await self.host.call_tool(ToolCallParams.model_validate(params).seq)


@asynccontextmanager
async def serving(
    model: ScriptedModel, supervisor: Supervisor | None = None
) -> AsyncIterator[tuple[Peer, Supervisor]]:
    """A worker that serves, and the supervisor's peer."""
    other = supervisor or Supervisor()
    server = WorkerServer(Agent(ThinkerSettings(), model))
    requests = {methods.STEP_COMMIT: other.commit, methods.TOOL_CALL: other.call_tool}
    ours = memory_pair(requests, server.requests, server.notifications)
    with time_limit():
        async with ours as (peer, theirs), anyio.create_task_group() as tasks:
            peer.notifications |= {
                methods.READY: lambda p: other.ready.append(Ready.model_validate(p)),
                methods.TURN_DELTA: lambda p: other.deltas.append(TurnDelta.model_validate(p)),
            }

            async def serve() -> None:
                await server.serve_wire(theirs, "scripted", "model")
                other.ended.set()

            tasks.start_soon(serve)
            yield peer, other
            peer.close()


async def run(peer: Peer, *tools: str, **fields: object) -> TurnResult:
    """Ask the worker to run a turn that has these tools."""
    turn = turn_run("hello", *(spec(name) for name in tools), **fields)
    return (await peer.call(methods.TURN_RUN, turn, TurnEnded, timeout=LIMIT)).turn_result


def hanging() -> tuple[ScriptedModel, anyio.Event]:
    """Return a model that hangs at first, and the event of its first call."""
    asked = anyio.Event()

    async def hang(request: ModelRequest) -> ModelResponse:
        del request
        asked.set()
        await anyio.sleep_forever()
        raise AssertionError

    return ScriptedModel(hang, says("done")), asked


async def test_worker_announces_itself_and_answers_pings() -> None:
    """Readiness comes first."""
    async with serving(ScriptedModel()) as (peer, supervisor):
        await peer.request(methods.PING, timeout=LIMIT)
        report = NO_JAIL.report
        ready = Ready(pid=os.getpid(), provider="scripted", model="model", sandbox=report)
        assert supervisor.ready == [ready]


async def test_turn_runs_over_the_wire() -> None:
    """Run, commit, tool call, result, answer with the last step: each exactly once."""
    model = ScriptedModel(calls(call("a", "add", x=1)), says("2"))
    async with serving(model) as (peer, supervisor):
        result = await run(peer, "add")
        assert (result.text, result.stop_reason, result.steps) == ("2", StopReason.DONE, 2)
        assert len(supervisor.host.commits) == 1
        assert supervisor.host.ran == [2]


async def test_turn_without_tools_takes_one_frame_each_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its only step comes with its result: each frame wakes a process."""
    received: list[bytes] = []
    feed = Peer.feed

    def count(peer: Peer, data: bytes) -> None:
        received.extend(data.splitlines())
        feed(peer, data)

    async with serving(ScriptedModel(says("Hi."), says("Hello."))) as (peer, _):
        await run(peer)
        monkeypatch.setattr(Peer, "feed", count)
        await run(peer)
    turn = [line for line in received if b'"heartbeat"' not in line]
    assert len(turn) == 2


async def test_turns_run_at_the_same_time() -> None:
    """A turn that waits for its model delays no other."""
    model, asked = hanging()
    async with serving(model) as (peer, _), anyio.create_task_group() as tasks:
        tasks.start_soon(run, peer)
        await asked.wait()
        assert (await run(peer, turn_id="t2")).text == "done"
        tasks.cancel_scope.cancel()


async def test_cancelled_turn_ends_with_an_error() -> None:
    """The supervisor reads it; nothing was committed."""
    model, asked = hanging()
    async with serving(model) as (peer, supervisor), anyio.create_task_group() as tasks:

        async def cancel() -> None:
            await asked.wait()
            peer.notify(methods.TURN_CANCEL, TurnCancel(turn_id="t1"))

        tasks.start_soon(cancel)
        with pytest.raises(RpcError, match="t1 was cancelled") as caught:
            await run(peer)
        assert (caught.value.code, supervisor.host.commits) == (CANCELLED, [])


async def test_cancel_right_behind_its_turn_is_not_lost() -> None:
    """Both frames may arrive in one piece, before the turn started."""
    model, _ = hanging()
    async with serving(model) as (peer, supervisor), anyio.create_task_group() as tasks:

        async def cancel() -> None:
            peer.notify(methods.TURN_CANCEL, TurnCancel(turn_id="t1"))

        tasks.start_soon(cancel)  # begins when the request below waits for its answer
        with pytest.raises(RpcError, match="t1 was cancelled"):
            await run(peer)
        assert supervisor.host.commits == []


async def test_turn_that_is_cancelled_and_run_again_at_once_can_be_cancelled_again() -> None:
    """The end of the old run does not remove the new one."""
    asked = anyio.Semaphore(0)

    async def hang(request: ModelRequest) -> ModelResponse:
        del request
        asked.release()
        await anyio.sleep_forever()
        raise AssertionError

    model = ScriptedModel(hang, hang, says("done"))
    async with serving(model) as (peer, _), anyio.create_task_group() as tasks:

        async def canceled() -> None:
            with pytest.raises(RpcError, match="cancelled"):
                await run(peer)

        for _again in range(2):
            tasks.start_soon(canceled)
            await asked.acquire()
            peer.notify(methods.TURN_CANCEL, TurnCancel(turn_id="t1"))
        assert (await run(peer)).text == "done"


async def test_cancel_of_an_unknown_turn_changes_nothing() -> None:
    """The supervisor sends one after every turn, to be sure."""
    async with serving(ScriptedModel(says("hi"))) as (peer, _):
        peer.notify(methods.TURN_CANCEL, TurnCancel(turn_id="t1"))
        assert (await run(peer)).text == "hi"


async def test_draining_worker_leaves_its_turns_at_the_next_boundary() -> None:
    """The running step finishes; a later turn does not start."""
    supervisor = Supervisor()
    drained: list[Peer] = []

    async def answer(request: ModelRequest) -> ModelResponse:
        del request
        drained[0].notify(methods.DRAIN)
        return calls(call("a", "add"))

    async with serving(ScriptedModel(answer), supervisor) as (peer, _):
        drained.append(peer)
        results = [await run(peer, "add"), await run(peer, turn_id="t2")]
        assert {result.stop_reason for result in results} == {StopReason.DRAINED}
        assert (len(supervisor.host.commits), supervisor.host.ran) == (1, [2])


async def test_fenced_worker_ends_its_turn() -> None:
    """Another process has the turn: nothing runs, and the answer says why."""
    supervisor = Supervisor(fenced=True)
    model = ScriptedModel(calls(call("a", "add")))
    async with serving(model, supervisor) as (peer, _):
        with pytest.raises(RpcError, match="not run by this process") as caught:
            await run(peer, "add")
        assert (caught.value.code, supervisor.host.ran) == (FENCED, [])


async def test_preview_shows_the_prompt_and_asks_no_model() -> None:
    """``prompt show`` costs no tokens."""
    model = ScriptedModel()
    async with serving(model) as (peer, _):
        record = await peer.call(methods.PROMPT_PREVIEW, turn_run(), PromptPreview, timeout=LIMIT)
        assert record.record.text.endswith("## Current Chat\nchat_id: 123456789")
        assert model.requests == []


async def test_bad_turn_is_refused_and_the_worker_goes_on() -> None:
    """Invalid parameters fail only their request."""
    async with serving(ScriptedModel(says("hi"))) as (peer, _):
        with pytest.raises(RpcError, match="turn_id") as caught:
            await peer.request(methods.TURN_RUN, {"text": "hello"}, timeout=LIMIT)
        assert caught.value.code == INVALID_PARAMS
        assert (await run(peer)).text == "hi"


async def test_growing_answer_is_shown_before_it_is_given() -> None:
    """Updates come first, and not for each word."""

    async def words(request: ModelRequest) -> ModelResponse:
        assert request.on_text is not None
        for text in ("H", "He", "Hel"):
            request.on_text(text)
        return says("Hello")

    async with serving(ScriptedModel(words)) as (peer, supervisor):
        assert (await run(peer, stream=True)).text == "Hello"
        assert supervisor.deltas == [TurnDelta(turn_id="t1", text="H")]


async def test_turn_past_its_deadline_still_answers() -> None:
    """A resumed turn may arrive too late; its result says so."""
    async with serving(ScriptedModel()) as (peer, _):
        result = await run(peer, deadline=NOON)
        assert result.stop_reason is StopReason.DEADLINE


async def test_end_of_file_ends_the_worker() -> None:
    """The other side is dead: turns stop, `serve` returns."""
    model, asked = hanging()
    async with serving(model) as (peer, supervisor), anyio.create_task_group() as tasks:

        async def lost() -> None:
            with pytest.raises(Exception, match="went away"):
                await run(peer)

        tasks.start_soon(lost)
        await asked.wait()
        peer.close()
        await supervisor.ended.wait()
