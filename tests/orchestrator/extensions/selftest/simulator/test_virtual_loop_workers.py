"""Workers that nothing is asked of, in virtual time: an hour passes at once."""

import itertools
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar, TypeVarTuple

import anyio
import pytest
from fakes.agent_process import MemoryHost, real_spec, turn
from fakes.scripted import ScriptedModel, says

from orchestrator.errors import WorkerLostError
from orchestrator.extensions.channel_folders.testing.memory_wire import MemoryProcess
from orchestrator.extensions.selftest.simulator.virtual_loop import VirtualLoop
from orchestrator.processes.child_process import PING_INTERVAL, SILENCE, Program
from orchestrator.processes.supervisor import Supervisor
from thinker.agent import Agent
from thinker.models.base import ModelRequest, ModelResponse
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.peer import Peer
from thinker.server import WorkerServer

HOUR = 3600.0
IDLE_MINUTES = 90.0
T = TypeVar("T")
Ts = TypeVarTuple("Ts")


async def at_once(function: Callable[[*Ts], T], /, *arguments: *Ts) -> T:
    """Run what would run in a thread."""
    return function(*arguments)


class Life:
    """A supervisor and its worker, which serves ``model`` and hangs when ``silent`` is set."""

    def __init__(self, home: Path, model: ScriptedModel) -> None:
        self.spec = real_spec(home)
        self.model = model
        self.loop = VirtualLoop(0.0, itertools.count())
        self.processes: list[MemoryProcess] = []
        self.frames = 0

    def run(self, course: Callable[[Supervisor], Awaitable[None]]) -> None:
        """Live to the end of ``course``."""

        async def main() -> None:
            async with anyio.create_task_group() as tasks:
                supervisor = Supervisor(tasks, self.loop.time, lambda: 1.0, self._spawn, at_once)
                supervisor.define_agent(self.spec, IDLE_MINUTES)
                await course(supervisor)
                tasks.cancel_scope.cancel()

        self.loop.run(main())
        assert self.loop.problems == []

    async def _spawn(self, program: Program) -> MemoryProcess:
        process = MemoryProcess(program.name, self._serve, 1 + len(self.processes))
        self.processes.append(process)
        return process

    async def _serve(self, process: MemoryProcess, peer: Peer) -> None:
        feed = peer.feed

        def counted(data: bytes) -> None:
            self.frames += 1
            if not process.silent:
                feed(data)

        peer.feed = counted  # type: ignore[method-assign] # what the wire hands over is counted
        server = WorkerServer(Agent(ThinkerSettings(), self.model))
        peer.requests |= server.requests
        peer.notifications |= server.notifications
        await server.serve_wire(peer, "scripted", "model")

    @property
    def timers(self) -> int:
        """How many times are waited for."""
        return sum(not timer.cancelled() for timer in self.loop._scheduled)


def test_idle_worker_exchanges_nothing_until_its_time_is_over(tmp_path: Path) -> None:
    """No frame in an hour, and one timer: that of its end."""
    life = Life(tmp_path, ScriptedModel(says("done")))

    async def course(supervisor: Supervisor) -> None:
        async with supervisor.use_worker("work") as worker:
            assert (await worker.run_turn(turn(), MemoryHost(), 0.0)).text == "done"
        await anyio.sleep(PING_INTERVAL)
        frames = life.frames
        await anyio.sleep(HOUR)
        assert life.frames == frames
        assert life.timers == 1
        assert worker.is_usable
        await anyio.sleep(HOUR)
        assert life.frames == frames
        assert worker.exited.is_set()
        assert supervisor.slots["work"].worker is None
        assert life.timers == 0

    life.run(course)


@pytest.mark.parametrize("idle", [0.0, HOUR])
def test_worker_that_hung_while_idle_is_replaced_at_the_next_request(
    tmp_path: Path, idle: float
) -> None:
    """As soon as one that hangs in a turn: after a ping without an answer."""
    life = Life(tmp_path, ScriptedModel(says("done")))

    async def course(supervisor: Supervisor) -> None:
        async with supervisor.use_worker("work") as worker:
            life.processes[0].silent = True
            await anyio.sleep(idle)
            began = life.loop.time()
            with pytest.raises(WorkerLostError):
                await worker.run_turn(turn(), MemoryHost(), 0.0)
        assert life.loop.time() - began == pytest.approx(PING_INTERVAL + SILENCE, abs=0.1)
        async with supervisor.use_worker("work") as worker:
            assert (await worker.run_turn(turn(), MemoryHost(), 0.0)).text == "done"
        assert len(life.processes) == 2

    life.run(course)


def test_worker_that_answers_pings_may_take_long(tmp_path: Path) -> None:
    """It is pinged while its turn lasts."""

    async def thinks(request: ModelRequest) -> ModelResponse:
        del request
        await anyio.sleep(HOUR)
        return says("done")

    life = Life(tmp_path, ScriptedModel(thinks))

    async def course(supervisor: Supervisor) -> None:
        async with supervisor.use_worker("work") as worker:
            assert (await worker.run_turn(turn(), MemoryHost(), 0.0)).text == "done"
        assert life.frames == pytest.approx(HOUR / PING_INTERVAL, abs=10)
        assert len(life.processes) == 1

    life.run(course)
