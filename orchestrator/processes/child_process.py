"""Start a child process on a socketpair, wait until it is ready, and end it.

The child gets its own session. It is watched and signalled through a pidfd, so a signal can never
reach another process that reused its number. A child ends by itself when its socket closes; the
rest of its session is then killed.

Where: is a hung worker detected and killed?
"""

import asyncio
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Protocol, TypeVar
from weakref import WeakKeyDictionary

import anyio
import structlog
from pydantic import JsonValue

from orchestrator.errors import WorkerError
from orchestrator.processes.reaper import Process, iter_session_members
from thinker.protocol import methods
from thinker.protocol.env import BROKER_VARIABLE
from thinker.protocol.peer import Peer, PeerClosedError, RpcError, connect_peer
from thinker.protocol.sandbox import SandboxReport

READY_TIMEOUT = 30.0  # seconds; a cold interpreter on a busy machine needs a few
MAX_READY_TIMEOUT = 240.0  # seconds; after each try that took too long, the next has twice as many
NOT_FOUND = 127  # exit code of setpriv, as of a shell, for a missing program
TERM_TIMEOUT = 3.0  # seconds between end-of-file, TERM and KILL
ABORT_TIMEOUT = 3.0  # seconds for the stack dump of a hung child before it is killed
PING_INTERVAL = 5.0  # seconds between two pings of a child that has an open request
SILENCE = 15.0  # seconds without an answer to a ping, after which the child counts as hung
_watched: set[int] = set()  # children that `_reap_on_exit` reaps
# Seconds that children have to start, by loop and name, after starts that took too long.
_patience = WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, float]]()
_spares: dict[tuple[str, ...], "Spare"] = {}
C = TypeVar("C", bound="ChildProcess")
D = TypeVar("D", bound="DescriptorChild")
log = structlog.get_logger()


@dataclass(frozen=True)
class Program:
    """A program to start.

    ``name`` is used in messages; ``fd_variable`` is the environment variable that gives the child
    its socket's descriptor. ``broker`` is a worker's end of its channel to the broker.
    """

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    fd_variable: str
    stdin: int = subprocess.DEVNULL
    broker: int | None = None


class SpawnedChild(Protocol):
    """A process that was just started."""

    @property
    def pid(self) -> int:
        """The id of the process."""

    def open_peer(self) -> AbstractAsyncContextManager[Peer]:
        """Open the parent's end of the process's socket."""

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process, which has not been reaped."""

    async def wait_for_end(self) -> int:
        """Wait for the process to end, kill the rest of its session and reap it.

        Returns the exit code, or the negative signal number.
        """

    def close(self) -> None:
        """Release the resources of the process, after it was reaped."""


Spawn = Callable[[Program], Awaitable[SpawnedChild]]


@dataclass(frozen=True)
class SpawnedProcess:
    """A process of this machine, and the parent's end of its socket.

    ``reap`` is awaited once, after the process has ended, and returns its exit code.
    """

    wire: socket.socket
    pid: int
    pidfd: int
    reap: Callable[[], Awaitable[int]]

    def open_peer(self) -> AbstractAsyncContextManager[Peer]:
        return connect_peer(self.wire)

    def signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):  # it was reaped just now
            signal.pidfd_send_signal(self.pidfd, number)

    async def wait_for_end(self) -> int:
        """Wait for the process to end, kill the rest of its session and reap it.

        The session goes first: until the child is reaped, its number cannot be reused.
        """
        await anyio.wait_readable(self.pidfd)
        for pid in iter_session_members(self.pid):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        return await self.reap()

    def close(self) -> None:
        os.close(self.pidfd)


class Spare(Protocol):
    """A spare child that waits to become the program; see `forked_spare`."""

    argv: tuple[str, ...]
    pid: int

    def wait(self) -> int: ...

    def kill(self) -> None: ...

    def run_program(self, program: Program, fd: int) -> None:
        """Run the program, with ``fd`` as its socket; raise `OSError` if it has ended."""


@dataclass
class ChildProcess:
    """A running child process."""

    name: str
    process: SpawnedChild
    peer: Peer
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    sandbox: SandboxReport = field(default_factory=SandboxReport)
    exited: asyncio.Event = field(default_factory=asyncio.Event)
    code: int = 0
    stop_requested: bool = False  # then its end does not count as a failure
    hung: bool = False
    is_watched: bool = False  # whether it is pinged

    @property
    def pid(self) -> int:
        return self.process.pid

    def stop(self) -> None:
        """Close the socket, on which the child ends by itself."""
        self.stop_requested = True
        self.peer.close()

    def abort(self, why: str) -> None:
        """Make the child print its stack and die; kill it if it does not."""
        log.error("child_hung", child=self.name, pid=self.pid, why=why)
        self.hung = True
        self.signal(signal.SIGABRT)
        asyncio.get_running_loop().call_later(ABORT_TIMEOUT, self.signal, signal.SIGKILL)

    @property
    def is_busy(self) -> bool:
        """Whether the child has an open request."""
        return self.peer.has_pending_request

    def start_watching(self) -> None:
        """Ping the child while it is busy; abort it when it does not answer."""
        if not (self.is_watched or self.peer.closed.is_set()):
            self.is_watched = True
            self.peer.tasks.start_soon(self._ping_child)

    async def _ping_child(self) -> None:
        try:
            await anyio.sleep(PING_INTERVAL)
            while self.is_busy:
                with suppress(RpcError):  # any traffic counts as an answer
                    await self.peer.request(methods.PING, timeout=SILENCE)
                await anyio.sleep(PING_INTERVAL)
        except TimeoutError:
            self.abort(f"no answer to a ping in {SILENCE:.0f} s")
        except PeerClosedError:
            return
        finally:
            self.is_watched = False

    def signal(self, number: signal.Signals) -> None:
        if not self.exited.is_set():
            self.process.signal(number)

    def _on_ready(self, params: JsonValue) -> None:
        self.sandbox = methods.Ready.model_validate(params).sandbox
        self.ready.set()

    def register_handlers(self) -> None:
        """Handle the child's notifications; subclasses add methods."""
        self.peer.notifications[methods.READY] = self._on_ready


async def execute_program(program: Program) -> SpawnedChild:
    """Start a program as a child; raise `WorkerError` if that fails."""
    try:
        ours, theirs = socket.socketpair()
    except OSError as error:
        raise build_start_error(program, error) from error
    with theirs:
        try:
            process, pidfd = _start_process(program, theirs.fileno())
        except WorkerError:
            ours.close()
            raise

    async def reap_child() -> int:
        code = process.wait()
        _watched.discard(process.pid)
        return code

    return SpawnedProcess(ours, process.pid, pidfd, reap_child)


@asynccontextmanager
async def run_child(
    program: Program, make: Callable[[str, SpawnedChild, Peer], C], spawn: Spawn = execute_program
) -> AsyncIterator[C]:
    """Start a child and wait until it is ready; end and reap it with the block.

    Raises:
        WorkerError: the child could not be started, or ended before it was ready.
    """
    spawned = await spawn(program)
    try:
        async with spawned.open_peer() as peer:
            child = make(program.name, spawned, peer)
            child.register_handlers()
            peer.tasks.start_soon(_reap_on_exit, child)
            try:
                await _wait_until_ready(child)
                yield child
            finally:
                with anyio.CancelScope(shield=True):
                    await _terminate_child(child)
    finally:
        spawned.close()


@dataclass(kw_only=True)
class DescriptorChild(ChildProcess):
    """A running child that takes descriptors; ``descriptors`` is the socket to send them over."""

    descriptors: socket.socket


@asynccontextmanager
async def run_child_with_descriptors(
    program: Program, kind: type[D], spawn: Spawn = execute_program
) -> AsyncIterator[D]:
    """Start a child as `run_child` does, with a standard input that takes descriptors."""
    try:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    except OSError as error:
        raise WorkerError(f"{program.name} cannot be started: {error}") from error
    ours.setblocking(False)  # noqa: FBT003 - the standard library takes it by position
    with ours, theirs:
        program = replace(program, stdin=theirs.fileno())
        async with run_child(program, partial(kind, descriptors=ours), spawn) as child:
            theirs.close()
            yield child


def keep_spare(spare: Spare) -> None:
    """Keep a spare for the first start of its program."""
    _spares[spare.argv] = spare
    _watched.add(spare.pid)


def has_spare(module: str) -> bool:
    """Return whether a spare waits to become a program of this module."""
    return any(argv[-1] == module for argv in _spares)


def end_spares() -> None:
    """Kill the spares that were not used."""
    for spare in _spares.values():
        with suppress(ProcessLookupError, ChildProcessError):  # a daemon reaps all at its end
            spare.kill()
            spare.wait()
    _spares.clear()


def _start_process(program: Program, fd: int) -> tuple[subprocess.Popen[bytes] | Spare, int]:
    """Start a program, or use its spare; return the process and its pidfd."""
    spare = _spares.pop(program.argv, None)
    try:
        process = spare or _open_process(program, fd)
    except (OSError, ValueError) as error:  # ValueError: a NUL character in the environment
        raise build_start_error(program, error) from error
    _watched.add(process.pid)
    try:
        if spare is not None:
            spare.run_program(program, fd)
        return process, os.pidfd_open(process.pid)
    except OSError as error:
        _watched.discard(process.pid)
        process.kill()
        process.wait()
        raise build_start_error(program, error) from error


def _open_process(program: Program, fd: int) -> subprocess.Popen[bytes]:
    passed, env = [fd], {**program.env, program.fd_variable: str(fd)}
    if program.broker is not None:
        passed.append(program.broker)
        env[BROKER_VARIABLE] = str(program.broker)
    return subprocess.Popen(
        (*_build_death_signal_prefix(), *program.argv),
        env=env,
        cwd=program.cwd,
        stdin=program.stdin,
        stdout=2,  # a library's stray print goes to the log
        pass_fds=passed,
        start_new_session=True,
    )


@cache
def _build_death_signal_prefix() -> tuple[str, ...]:
    """Return a command prefix that makes the kernel kill the child when this process dies.

    Children also request this themselves, but only after their imports. The prefix is tried once,
    because setpriv lacks the option on some systems; it is empty there.
    """
    found = shutil.which("setpriv")
    if found is None:
        return ()
    command = (found, "--pdeathsig", "KILL")
    tried = subprocess.run((*command, "true"), capture_output=True, check=False)
    return command if tried.returncode == 0 else ()


def build_start_error(program: Program, error: Exception) -> WorkerError:
    return WorkerError(f"{program.name} cannot be started: {error}")


async def _reap_on_exit(child: ChildProcess) -> None:
    """Reap the child as soon as it ends, and kill the rest of its session."""
    with anyio.CancelScope(shield=True):  # `_terminate_child` makes sure that the child ends
        child.code = await child.process.wait_for_end()
        child.exited.set()


def is_watched(process: Process) -> bool:
    """Return whether this module started the process, and therefore reaps it."""
    return process.pid in _watched


async def wait_for_any(*events: asyncio.Event) -> None:
    async def wait_for_event(event: asyncio.Event) -> None:
        await event.wait()
        tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        for event in events:
            tasks.start_soon(wait_for_event, event)


async def _wait_until_ready(child: ChildProcess) -> None:
    patience = _patience.setdefault(asyncio.get_running_loop(), {})
    limit = patience.pop(child.name, READY_TIMEOUT)
    with anyio.move_on_after(limit):
        await wait_for_any(child.ready, child.exited)
    if child.exited.is_set():
        if child.code == NOT_FOUND:
            raise WorkerError(f"{child.name} cannot start: program not found")
        raise WorkerError(
            f"{child.name} ended during start-up with exit code {child.code}; see its log",
            child.code,
        )
    if not child.ready.is_set():
        child.hung = True
        longer = patience[child.name] = max(limit, min(2 * limit, MAX_READY_TIMEOUT))
        raise WorkerError(
            f"{child.name} was not ready in {limit:g} s; its next start has {longer:g} s"
        )


async def _terminate_child(child: ChildProcess) -> None:
    """Send end-of-file, TERM and KILL, `TERM_TIMEOUT` apart; kill a hung child immediately."""
    child.peer.close()
    for number in (signal.SIGTERM, signal.SIGKILL):
        with anyio.move_on_after(0 if child.hung else TERM_TIMEOUT):
            await child.exited.wait()
        child.signal(number)
    await child.exited.wait()
