"""The supervisor when workers fail: crashes, quarantine, silence, what cannot be started."""

import os
import signal
import sys
from pathlib import Path

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
from fakes.time_limit import time_limit

from orchestrator.errors import QuarantinedError, WorkerLostError
from orchestrator.processes import child_process
from orchestrator.processes.restarts import PROBE, WorkerState
from orchestrator.tools.builtin.clock import get_time
from thinker.protocol.messages import ToolResult
from thinker.protocol.methods import StopReason

pytestmark = [pytest.mark.process, BOTH_MODES]


async def test_crashed_worker_is_replaced_at_once_and_its_turn_is_lost_loudly(
    tmp_path: Path,
    mode: str,
) -> None:
    """`kill -9` during a turn: the caller gets an error, the next one a new process."""
    called = anyio.Event()

    async def never(seq: int) -> ToolResult:
        del seq
        called.set()
        await anyio.sleep_forever()
        raise AssertionError

    async with supervised(Clock(), mode) as (supervisor, tasks):
        supervisor.define_agent(real_spec(tmp_path), 30)
        lost = anyio.Event()
        first: list[int] = []

        async def run() -> None:
            async with supervisor.use_worker("work") as worker:
                first.append(worker.pid)
                run = turn("t1", "what time is it?", get_time.spec)
                with pytest.raises(WorkerLostError):
                    await worker.run_turn(run, MemoryHost(never), 0.0)
                lost.set()

        tasks.start_soon(run)
        await called.wait()
        os.kill(first[0], signal.SIGKILL)
        await lost.wait()
        async with supervisor.use_worker("work") as worker:
            assert worker.pid != first[0]
            result = await worker.run_turn(turn("t2"), MemoryHost(), 0.0)
            assert result.stop_reason is StopReason.DONE
        assert supervisor.slots["work"].history.restarts == 1


async def test_misconfigured_agent_is_not_tried_again_until_it_changes(
    tmp_path: Path, mode: str
) -> None:
    """Exit 78: the error is final until the configuration changes."""
    async with supervised(Clock(), mode) as (supervisor, _):
        supervisor.define_agent(real_spec(tmp_path, llm_provider="openai", model="gpt"), 30)
        for _ in range(2):
            with pytest.raises(QuarantinedError, match="exit code 78") as caught:
                async with supervisor.use_worker("work"):
                    pass
            assert caught.value.final
        slot = supervisor.slots["work"]
        assert (slot.history.state, slot.history.restarts) == (WorkerState.FATAL, 0)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(supervisor.wait_until_available, "work")
            await anyio.wait_all_tasks_blocked()
            supervisor.define_agent(real_spec(tmp_path), 30)
        async with supervisor.use_worker("work") as worker:
            assert worker.ready.is_set()


async def test_five_crashes_quarantine_that_agent_only(tmp_path: Path, mode: str) -> None:
    """It is probed after 15 minutes; a failed probe goes back, an operator may try at once."""
    clock = Clock()
    async with supervised(clock, mode) as (supervisor, tasks):
        supervisor.define_agent(program(tmp_path, "raise SystemExit(3)", "bad"), 30)
        supervisor.define_agent(real_spec(tmp_path, "good"), 30)
        slot = supervisor.slots["bad"]

        async def pass_time() -> None:
            while True:
                await slot.changed.wait()
                if slot.history.state is WorkerState.BACKOFF and clock.now < slot.history.retry_at:
                    clock.now = slot.history.retry_at
                    slot.wake()

        tasks.start_soon(pass_time)

        async def refused() -> bool:
            with pytest.raises(QuarantinedError, match="exit code 3") as caught:
                async with supervisor.use_worker("bad"):
                    pass
            return caught.value.final

        assert not await refused()
        assert (slot.history.state, slot.history.restarts) == (WorkerState.QUARANTINED, 5)
        async with supervisor.use_worker("good") as worker:
            assert worker.ready.is_set()
        clock.now += PROBE
        await supervisor.wait_until_available("bad")
        assert not await refused()
        assert slot.history.restarts == 6
        supervisor.resume_quarantined("bad")
        assert not await refused()
        assert slot.history.restarts == 11


@pytest.mark.parametrize("code", [0, 3])
async def test_worker_that_leaves_before_it_is_ready_has_failed(
    tmp_path: Path, mode: str, code: int
) -> None:
    """Also with exit code 0: it must not be started again in a tight loop."""
    async with supervised(Clock(), mode) as (supervisor, tasks):
        supervisor.define_agent(program(tmp_path, f"raise SystemExit({code})"), 30)

        async def use() -> None:
            async with supervisor.use_worker("work"):
                raise AssertionError

        tasks.start_soon(use)
        slot = supervisor.slots["work"]
        while slot.history.restarts < 2:
            await slot.changed.wait()
        assert slot.history.state is WorkerState.BACKOFF


async def test_agent_that_cannot_be_started_does_not_disturb_the_others(
    tmp_path: Path, mode: str
) -> None:
    """A missing program, a NUL in the environment, a prompt that cannot be written."""
    clock = Clock()
    async with supervised(clock, mode) as (supervisor, tasks):
        missing = program(tmp_path, "", "missing")
        supervisor.define_agent(
            type(missing)(**{**vars(missing), "argv": (str(tmp_path / "no-such-program"),)}), 30
        )
        supervisor.define_agent(real_spec(tmp_path, "nul", model="a\0b"), 30)
        supervisor.define_agent(real_spec(tmp_path, "prompt", system_prompt="Be brief."), 30)
        (tmp_path / "agent-prompts" / "prompt.txt").mkdir()
        supervisor.define_agent(real_spec(tmp_path, "good"), 30)

        async def use(agent_id: str) -> None:
            async with supervisor.use_worker(agent_id):
                raise AssertionError

        for agent_id in ("missing", "nul", "prompt"):
            tasks.start_soon(use, agent_id)
            slot = supervisor.slots[agent_id]
            while slot.history.restarts < 2:
                await slot.changed.wait()
            assert slot.history.state is WorkerState.BACKOFF
            assert slot.history.reason
        async with supervisor.use_worker("good") as worker:
            assert worker.ready.is_set()


async def test_frozen_worker_is_detected_by_its_silence_and_killed(
    tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SIGSTOP: no answer to a ping, so it is aborted; SIGABRT alone would wait until it goes on."""
    for name in ("PING_INTERVAL", "SILENCE", "ABORT_TIMEOUT"):
        monkeypatch.setattr(child_process, name, 0.01)
    async with supervised(Clock(), mode) as (supervisor, _):
        supervisor.define_agent(real_spec(tmp_path), 30)
        slot = supervisor.slots["work"]
        async with supervisor.use_worker("work") as worker:
            os.kill(worker.pid, signal.SIGSTOP)
            with pytest.raises(WorkerLostError):
                await worker.run_turn(turn(), MemoryHost(), 0.0)
        await gone(supervisor)
        assert not alive(worker.pid)
        assert slot.history.restarts == 1


async def test_back_off_ends_at_once_when_the_agent_is_mended(tmp_path: Path, mode: str) -> None:
    """A corrected file takes effect without a wait."""
    async with supervised(Clock(), mode) as (supervisor, tasks):
        supervisor.define_agent(program(tmp_path, "raise SystemExit(3)"), 30)
        ready = anyio.Event()

        async def use() -> None:
            async with supervisor.use_worker("work"):
                ready.set()

        tasks.start_soon(use)
        slot = supervisor.slots["work"]
        while slot.history.restarts < 2:
            await slot.changed.wait()
        supervisor.define_agent(real_spec(tmp_path), 30)
        await ready.wait()


async def test_nothing_is_left_when_the_daemon_is_cancelled(tmp_path: Path, mode: str) -> None:
    """No process, no zombie, and no process that a worker has started."""
    pid_file = tmp_path / "pid"
    code = f"""
import subprocess
child = subprocess.Popen([{sys.executable!r}, "-c", "import signal; signal.pause()"])
open({str(pid_file)!r}, "w").write(str(child.pid))
{READY}
wire.recv(1)
os._exit(0)
"""
    async with supervised(Clock(), mode) as (supervisor, _):
        supervisor.define_agent(program(tmp_path, code), 30)
        async with supervisor.use_worker("work") as worker:
            pid, grandchild = worker.pid, int(pid_file.read_text("utf-8"))
            watch = os.pidfd_open(grandchild)
    assert not alive(pid)
    with time_limit():
        await anyio.wait_readable(watch)
    os.close(watch)
