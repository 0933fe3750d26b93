"""One child process on a wire: spawn, readiness, end. What it does is its subclass's matter.

The child gets one end of a socketpair and its own session; it is watched and signalled through a
pidfd, so a signal can never reach a process that took over its number. When the wire ends, the
child ends by itself; what is left of its session is killed with it.
"""

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TypeVar

import anyio
import structlog

from orchestrator.errors import WorkerError
from orchestrator.processes.reaper import Process, members
from thinker.protocol import methods
from thinker.protocol.peer import Peer, connected

READY_TIMEOUT = 30.0  # seconds; a cold interpreter on a busy machine needs a few
NOT_FOUND = 127  # what setpriv, like a shell, says of a missing program
TERM_TIMEOUT = 3.0  # seconds from asking to killing
_watched: set[int] = set()  # children that are reaped by `_reap_on_exit`
C = TypeVar("C", bound="Child")
log = structlog.get_logger()


@dataclass(frozen=True)
class Program:
    """What to start. ``name`` is for messages; ``fd_variable`` tells the child its descriptor."""

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    fd_variable: str
    stdin: int = subprocess.DEVNULL


@dataclass(frozen=True)
class Spawned:
    """A process that was just started: our end of its wire, and how it is reaped.

    ``reap`` is awaited once, when it has ended: the exit code, or minus the signal.
    """

    wire: socket.socket
    pid: int
    pidfd: int
    reap: Callable[[], Awaitable[int]]


Spawn = Callable[[Program], Awaitable[Spawned]]


@dataclass
class Child:
    """A running process of ours."""

    name: str
    pid: int
    pidfd: int
    peer: Peer
    on_heartbeat: Callable[[], None] = field(default=lambda: None)
    ready: anyio.Event = field(default_factory=anyio.Event)
    exited: anyio.Event = field(default_factory=anyio.Event)
    code: int = 0
    stop_requested: bool = False  # to end, by us
    hung: bool = False

    def stop(self) -> None:
        """End the wire; the child ends by itself."""
        self.stop_requested = True
        self.peer.close()

    def abort(self, why: str) -> None:
        """Have the child print where it hangs, and die."""
        log.error("child_hung", child=self.name, pid=self.pid, why=why)
        self.hung = True
        self.signal(signal.SIGABRT)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to this very process; nothing happens when it has ended."""
        if not self.exited.is_set():
            signal.pidfd_send_signal(self.pidfd, number)

    def register_handlers(self) -> None:
        """Answer what the child asks; subclasses add their methods."""
        self.peer.notifications |= {
            methods.READY: lambda _: self.ready.set(),
            methods.HEARTBEAT: lambda _: self.on_heartbeat(),
        }


async def execute(program: Program) -> Spawned:
    """Start a program as a child of this process.

    Raises:
        WorkerError: it cannot be started.
    """
    try:
        ours, theirs = socket.socketpair()
    except OSError as error:
        raise cannot_start(program, error) from error
    with theirs:
        try:
            process, pidfd = _popen(program, theirs.fileno())
        except WorkerError:
            ours.close()
            raise

    async def reap() -> int:
        code = process.wait()
        _watched.discard(process.pid)
        return code

    return Spawned(ours, process.pid, pidfd, reap)


@asynccontextmanager
async def running_child(
    program: Program, make: Callable[[str, int, int, Peer], C], spawn: Spawn = execute
) -> AsyncIterator[C]:
    """A child that announced readiness; it is gone, and reaped, when the block ends.

    Raises:
        WorkerError: the child could not be started or ended before it was ready.
    """
    spawned = await spawn(program)
    try:
        async with connected(spawned.wire) as peer:
            child = make(program.name, spawned.pid, spawned.pidfd, peer)
            child.register_handlers()
            peer.tasks.start_soon(_reap_on_exit, child, spawned.reap)
            try:
                await _wait_ready(child)
                yield child
            finally:
                with anyio.CancelScope(shield=True):
                    await _terminate(child)
    finally:
        os.close(spawned.pidfd)


def _popen(program: Program, fd: int) -> tuple[subprocess.Popen[bytes], int]:
    """The child and a pidfd of it."""
    try:
        process = subprocess.Popen(
            (*_death_signal_prefix(), *program.argv),
            env={**program.env, program.fd_variable: str(fd)},
            cwd=program.cwd,
            stdin=program.stdin,
            stdout=2,  # a stray print of a library goes to the log
            pass_fds=(fd,),
            start_new_session=True,
        )
    except (OSError, ValueError) as error:  # ValueError: a NUL character in the environment
        raise cannot_start(program, error) from error
    _watched.add(process.pid)
    try:
        return process, os.pidfd_open(process.pid)
    except OSError as error:
        _watched.discard(process.pid)
        process.kill()
        process.wait()
        raise cannot_start(program, error) from error


@cache
def _death_signal_prefix() -> tuple[str, ...]:
    """What to put before a command so that the kernel kills it with us from its first moment.

    Without it a child sees to that itself, but only after its imports. Some systems have a
    setpriv that cannot do it, so it is tried once.
    """
    found = shutil.which("setpriv")
    if found is None:
        return ()
    command = (found, "--pdeathsig", "KILL")
    tried = subprocess.run((*command, "true"), capture_output=True, check=False)
    return command if tried.returncode == 0 else ()


def cannot_start(program: Program, error: Exception) -> WorkerError:
    """What to raise when the system refuses."""
    return WorkerError(f"{program.name} cannot be started: {error}")


async def _reap_on_exit(child: Child, reap: Callable[[], Awaitable[int]]) -> None:
    """Reap the child as soon as it ends, and kill what is left of its session.

    The session first: until the child is reaped, its number cannot belong to anybody else.
    """
    with anyio.CancelScope(shield=True):  # `_terminate` sees to it that it does end
        await anyio.wait_readable(child.pidfd)
        for pid in members(child.pid):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        child.code = await reap()
        child.exited.set()


def is_watched(process: Process) -> bool:
    """Whether it was started here, and so is reaped here."""
    return process.pid in _watched


async def wait_any(*events: anyio.Event) -> None:
    """Wait until one of the events is set."""

    async def wait(event: anyio.Event) -> None:
        await event.wait()
        tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        for event in events:
            tasks.start_soon(wait, event)


async def _wait_ready(child: Child) -> None:
    with anyio.move_on_after(READY_TIMEOUT):
        await wait_any(child.ready, child.exited)
    if child.exited.is_set():
        if child.code == NOT_FOUND:
            raise WorkerError(f"{child.name} cannot be started: there is no such program")
        raise WorkerError(
            f"{child.name} ended at its start with exit code {child.code}; its log says why",
            child.code,
        )
    if not child.ready.is_set():
        child.hung = True
        raise WorkerError(f"{child.name} was not ready in {READY_TIMEOUT:.0f} s")


async def _terminate(child: Child) -> None:
    """End-of-file, then TERM, then KILL, each with its time; one that hangs gets none."""
    child.peer.close()
    for number in (signal.SIGTERM, signal.SIGKILL):
        with anyio.move_on_after(0 if child.hung else TERM_TIMEOUT):
            await child.exited.wait()
        child.signal(number)
    await child.exited.wait()
