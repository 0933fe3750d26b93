"""The machine of a simulated daemon: virtual time, scripted processes, no sockets."""

import signal
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any, TypeVar, TypeVarTuple

import anyio
from watchfiles import Change

from orchestrator.document_text import decode_plain_text
from orchestrator.extensions.channel_folders.testing.memory_wire import MemoryProcess
from orchestrator.extensions.selftest.simulator.scripted_broker import ScriptedBroker
from orchestrator.extensions.selftest.simulator.scripted_tool_host import ScriptedToolHost
from orchestrator.extensions.selftest.simulator.scripted_worker import ScriptedWorker
from orchestrator.extensions.selftest.simulator.simulated_world import SimulatedWorld
from orchestrator.extensions.selftest.simulator.unreliable_platform import UnreliablePlatform
from orchestrator.extensions.selftest.simulator.virtual_loop import VirtualLoop
from orchestrator.journal.db.writer import MAX_GROUP, GroupCommit, Job, resolve_futures
from orchestrator.machine import Machine
from orchestrator.processes.child_process import Program, SpawnedChild
from orchestrator.processes.launch import Endpoint
from orchestrator.settings import Settings
from orchestrator.wakeup import Wakeup
from thinker.protocol.peer import Peer

FIRST_PID = 100_000
T = TypeVar("T")
Ts = TypeVarTuple("Ts")
SYNC = 0.0005  # seconds that a commit takes, at least


class Killed(Exception):  # noqa: N818 - no fault
    """The daemon was killed within a transaction."""


class VirtualWriter:
    """The journal's writer as a timer: a commit takes some time, in which jobs arrive."""

    def __init__(self, commits: GroupCommit, loop: VirtualLoop, chance: Random) -> None:
        self._commits = commits
        self._loop = loop
        self._chance = chance
        self._jobs: list[Job[Any]] = []
        self._busy = False

    def put(self, job: Job[Any]) -> None:
        self._jobs.append(job)
        self._start_commit_timer()

    def close(self) -> None:
        """Do nothing: a daemon that stops has no more jobs."""

    def _start_commit_timer(self) -> None:
        if not self._busy and self._jobs:
            self._busy = True
            self._loop.call_later(SYNC * self._chance.choice((1, 1, 1, 1, 10)), self._commit_group)

    def _commit_group(self) -> None:
        group, self._jobs = self._jobs[:MAX_GROUP], self._jobs[MAX_GROUP:]
        self._loop.committing = True
        try:
            self._commits.commit_group(group)
        except Killed:
            return
        finally:
            self._loop.committing = False
        self._loop.call_soon(resolve_futures, group)
        self._busy = False
        self._start_commit_timer()


class SimulatedMachine(Machine):
    """One life's machine. ``drift`` is how far the wall clock is off, in seconds."""

    freeze_memory = staticmethod(lambda: None)  # one process has many lives

    def __init__(
        self, settings: Settings, loop: VirtualLoop, world: SimulatedWorld, chance: Random
    ) -> None:
        self._settings = settings
        self._loop = loop
        self._world = world
        self._chance = chance
        self.bot_network: UnreliablePlatform = world.platform
        self.workers: list[MemoryProcess] = []
        self.tool_hosts: list[MemoryProcess] = []
        self.brokers: list[MemoryProcess] = []
        self.edits = Wakeup()  # of files in the home
        self._signals, self._received = anyio.create_memory_object_stream[signal.Signals](1)

    async def document_text(self, data: bytes, media_type: str) -> str:
        """Return the text of a text file; start no process."""
        del media_type
        return decode_plain_text(data)

    def clock(self) -> int:
        return self._world.read_clock()

    def monotonic(self) -> float:
        return self._loop.time()

    def draw_fraction(self) -> float:
        return self._chance.random()

    def random_bytes(self, count: int) -> bytes:
        return self._chance.randbytes(count)

    @contextmanager
    def stop_signals(self) -> Iterator[AsyncIterator[signal.Signals]]:
        yield self._received

    def stop_daemon(self) -> None:
        """Send the daemon SIGTERM, unless one is pending."""
        with suppress(anyio.WouldBlock):
            self._signals.send_nowait(signal.SIGTERM)

    def listen(self) -> socket.socket:
        return socket.socket()  # no one connects

    async def run(self) -> None:
        """Run no process."""

    async def spawn_worker(self, program: Program) -> SpawnedChild:
        script = ScriptedWorker(self._world, self._chance, program)
        process = self._make_process(program, script.serve_peer)
        self.workers.append(process)
        return process

    async def spawn_tool_host(self, program: Program) -> SpawnedChild:
        script = ScriptedToolHost(self._world.ledger, self._chance, self._world.server_start)
        process = self._make_process(program, script.serve_peer)
        self.tool_hosts.append(process)
        return process

    async def spawn_broker(self, program: Program) -> SpawnedChild:
        process = self._make_process(program, ScriptedBroker(program.stdin).serve_peer)
        self.brokers.append(process)
        return process

    def _make_process(
        self, program: Program, serve: Callable[[MemoryProcess, Peer], Awaitable[None]]
    ) -> MemoryProcess:
        pid = FIRST_PID + len(self.workers) + len(self.tool_hosts) + len(self.brokers)
        return MemoryProcess(program.name, serve, pid)

    async def watch(
        self, *paths: Path, debounce: int, **_: object
    ) -> AsyncGenerator[set[tuple[Change, str]]]:
        """Report every edit as one of each of these paths."""
        while True:
            await self.edits.changed.wait()
            await anyio.sleep(debounce / 1000)
            yield {(Change.modified, str(path)) for path in paths}

    async def off_loop(self, function: Callable[[*Ts], T], /, *arguments: *Ts) -> T:
        return function(*arguments)

    in_thread = off_loop

    async def model_servers(self) -> tuple[Endpoint, ...]:
        return ()
