"""The supervisor with real worker processes: sharing, idleness, replacement, drain."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar, TypeVarTuple

import anyio
import pytest
from fakes.agent_process import (
    BOTH_MODES,
    READY,
    Clock,
    MemoryHost,
    alive,
    gone,
    program,
    real_spec,
    supervised,
    turn,
)

from orchestrator.errors import UnknownAgentError
from orchestrator.processes.restarts import WorkerState
from orchestrator.tools.builtin.clock import get_time
from thinker.protocol.messages import ToolResult
from thinker.protocol.methods import StopReason

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
pytestmark = [pytest.mark.process, BOTH_MODES]


async def test_concurrent_callers_share_one_process(tmp_path: Path, mode: str) -> None:
    """It is started once, and only on demand."""
    async with supervised(Clock(), mode) as (supervisor, _):
        supervisor.define_agent(real_spec(tmp_path), 30)
        assert [slot.history.state for slot in supervisor.slots.values()] == [WorkerState.STOPPED]
        pids: list[int] = []
        everybody = anyio.Event()

        async def use() -> None:
            async with supervisor.use_worker("work") as worker:
                pids.append(worker.pid)
                if len(pids) == 5:
                    everybody.set()
                await everybody.wait()

        async with anyio.create_task_group() as callers:
            for _number in range(5):
                callers.start_soon(use)
        assert len(set(pids)) == 1
        assert supervisor.slots["work"].history.state is WorkerState.RUNNING
    assert not alive(pids[0])


async def test_idle_worker_leaves_and_the_next_caller_gets_a_new_one(
    tmp_path: Path, mode: str
) -> None:
    """Not before its time, not while it is used, and without counting as a failure."""
    clock = Clock()
    async with supervised(clock, mode) as (supervisor, _):
        supervisor.define_agent(real_spec(tmp_path), 1)
        slot = supervisor.slots["work"]
        async with supervisor.use_worker("work") as worker:
            clock.now += 1
            first = worker.pid
            slot.wake()
        clock.now += 28
        slot.wake()
        async with supervisor.use_worker("work") as worker:
            assert worker.pid == first
        clock.now += 60
        slot.wake()
        await gone(supervisor)
        assert not alive(first)
        assert slot.history.state is WorkerState.STOPPED
        assert slot.history.failures == ()
        async with supervisor.use_worker("work") as worker:
            assert worker.pid != first


async def test_changed_agent_drains_and_is_replaced_while_callers_wait(
    tmp_path: Path, mode: str
) -> None:
    """The running turn stops at its step boundary; the next one uses the new definition."""
    asked, answer = anyio.Event(), anyio.Event()

    async def slow(seq: int) -> ToolResult:
        del seq
        asked.set()
        await answer.wait()
        return ToolResult(call_id="demo_0", name="get_time", content="noon")

    async with supervised(Clock(), mode) as (supervisor, tasks):
        supervisor.define_agent(real_spec(tmp_path), 30)
        pids: list[int] = []
        finished = anyio.Event()

        async def run() -> None:
            while True:
                async with supervisor.use_worker("work") as worker:
                    pids.append(worker.pid)
                    run = turn("t1", "what time is it?", get_time.spec)
                    result = await worker.run_turn(run, MemoryHost(slow), 0.0)
                if result.stop_reason is not StopReason.DRAINED:
                    finished.set()
                    return

        tasks.start_soon(run)
        await asked.wait()
        supervisor.define_agent(real_spec(tmp_path), 30)
        assert not supervisor.slots["work"].worker.stop_requested  # type: ignore[union-attr] # it runs
        supervisor.define_agent(real_spec(tmp_path, temperature=1), 30)
        answer.set()
        await finished.wait()
        assert len(set(pids)) == len(pids) == 2
        assert not alive(pids[0])


@pytest.mark.parametrize(
    ("removed", "ending"),
    [(True, f"{READY}wire.recv(1)"), (False, f"{READY}wire.recv(1)"), (False, "exit(78)")],
)
async def test_agent_changed_while_it_starts_does_not_keep_the_old_process(
    tmp_path: Path, mode: str, *, removed: bool, ending: str
) -> None:
    """No caller gets the old definition's worker, and its failures do not count for the new one."""
    async with supervised(Clock(), mode) as (supervisor, tasks):
        gate = tmp_path / "gate"
        os.mkfifo(gate)
        late = program(tmp_path, f"open({str(gate)!r}).read()\n{ending}\n")
        supervisor.define_agent(late, 30)
        ended = anyio.Event()
        outcome: list[object] = []

        async def use() -> None:
            try:
                async with supervisor.use_worker("work") as worker:
                    outcome.append(worker.spec.argv)
            except UnknownAgentError as error:
                outcome.append(type(error))
            ended.set()

        tasks.start_soon(use)
        await anyio.wait_all_tasks_blocked()
        slot = supervisor.slots["work"]
        assert slot.history.state is WorkerState.STARTING
        fresh = real_spec(tmp_path)
        if removed:
            supervisor.remove_agent("work")
        else:
            supervisor.define_agent(fresh, 30)
        await anyio.to_thread.run_sync(gate.write_text, "go")
        await ended.wait()
        while slot.has_task and slot.spec is late:
            await slot.changed.wait()
        assert outcome == [UnknownAgentError if removed else fresh.argv]


async def test_removed_agent_finishes_its_turn_and_goes(tmp_path: Path, mode: str) -> None:
    """Its prompt file is removed, and later callers get an error."""
    async with supervised(Clock(), mode) as (supervisor, _):
        supervisor.define_agent(real_spec(tmp_path, system_prompt="Be brief."), 30)
        slot = supervisor.slots["work"]
        async with supervisor.use_worker("work") as worker:
            assert slot.spec.prompt_path.read_text("utf-8") == "Be brief."
            supervisor.remove_agent("work")
            result = await worker.run_turn(turn(), MemoryHost(), 0.0)
            assert result.stop_reason is StopReason.DONE
        while slot.has_task:
            await slot.changed.wait()
        assert worker.exited.is_set()
        assert not slot.spec.prompt_path.exists()
        with pytest.raises(UnknownAgentError):
            async with supervisor.use_worker("work"):
                pass


async def test_prompt_file_goes_at_once_when_the_prompt_is_emptied(
    tmp_path: Path, mode: str
) -> None:
    """Also one that an earlier daemon left, and before another worker starts."""
    async with supervised(Clock(), mode) as (supervisor, _):
        left = real_spec(tmp_path, "other").prompt_path
        left.parent.mkdir(parents=True, exist_ok=True)
        left.write_text("Be gone.", "utf-8")
        supervisor.define_agent(real_spec(tmp_path, "other"), 30)
        assert not left.exists()
        supervisor.define_agent(real_spec(tmp_path, system_prompt="Be brief."), 30)
        async with supervisor.use_worker("work"):
            path = supervisor.slots["work"].spec.prompt_path
            assert path.exists()
            supervisor.define_agent(real_spec(tmp_path), 30)
            assert not path.exists()


async def test_prompt_of_an_agent_that_is_removed_while_it_is_written_goes(
    tmp_path: Path, mode: str
) -> None:
    """It is written in a thread, and the event loop goes on meanwhile."""
    async with supervised(Clock(), mode) as (supervisor, _):

        async def remove_and_run(function: Callable[[*Ts], T], /, *arguments: *Ts) -> T:
            supervisor.remove_agent("work")
            return function(*arguments)

        supervisor.in_thread = remove_and_run
        supervisor.define_agent(real_spec(tmp_path, system_prompt="Be brief."), 30)
        slot = supervisor.slots["work"]
        with pytest.raises(UnknownAgentError):
            async with supervisor.use_worker("work"):
                pass
        while slot.has_task:
            await slot.changed.wait()
        assert not slot.spec.prompt_path.exists()


async def test_drain_waits_for_step_boundaries_and_ends_every_worker(
    tmp_path: Path, mode: str
) -> None:
    """Running turns end as drained, and no caller gets a worker."""
    asked, answer = anyio.Event(), anyio.Event()

    async def slow(seq: int) -> ToolResult:
        del seq
        asked.set()
        await answer.wait()
        return ToolResult(call_id="demo_0", name="get_time", content="noon")

    async with supervised(Clock(), mode) as (supervisor, tasks):
        supervisor.define_agent(real_spec(tmp_path), 30)
        reasons: list[StopReason] = []

        async def run() -> None:
            async with supervisor.use_worker("work") as worker:
                run = turn("t1", "what time is it?", get_time.spec)
                result = await worker.run_turn(run, MemoryHost(slow), 0.0)
                reasons.append(result.stop_reason)

        tasks.start_soon(run)
        await asked.wait()
        async with anyio.create_task_group() as draining:
            draining.start_soon(supervisor.drain_workers, 20)
            await anyio.wait_all_tasks_blocked()
            answer.set()
        assert reasons == [StopReason.DRAINED]
        with pytest.raises(UnknownAgentError):
            async with supervisor.use_worker("work"):
                pass
        await gone(supervisor)
        assert supervisor.slots["work"].history.failures == ()


async def test_longest_idle_worker_makes_room_for_another_agent(tmp_path: Path, mode: str) -> None:
    """With a limit of one, agents take turns; none waits for a worker that only stands by."""
    async with supervised(Clock(), mode) as (supervisor, _):
        supervisor.places.limit = 1
        pids = []
        for name in ("one", "two", "one"):
            supervisor.define_agent(real_spec(tmp_path, name), 30)
            async with supervisor.use_worker(name) as worker:
                pids.append(worker.pid)
                assert supervisor.list_pids() == [worker.pid]
        assert len(set(pids)) == 3
        assert all(slot.history.failures == () for slot in supervisor.slots.values())
