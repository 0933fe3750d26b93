"""One child process on a wire: spawn, readiness, end. What it does is its subclass's matter.

The child gets one end of a socketpair and its own session; it is watched and signalled through a
pidfd, so a signal can never reach a process that took over its number. When the wire ends, the
child ends by itself; what is left of its session is killed with it.
"""

import asyncio
import ctypes
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeVar

import anyio
import structlog

from orchestrator.errors import WorkerError
from thinker.protocol import methods
from thinker.protocol.peer import Peer, connected

READY_TIMEOUT = 30.0  # seconds; a cold interpreter on a busy machine needs a few
NOT_FOUND = 127  # what setpriv, like a shell, says of a missing program
PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
LAST_LOOKS = 100  # at what is left in the end
GLANCE = 0.01  # seconds between two of them
TERM_TIMEOUT = 3.0  # seconds from asking to killing
_watched: set[int] = set()  # children that are reaped by `_watch`
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


@dataclass
class Child:
    """A running process of ours."""

    name: str
    pid: int
    pidfd: int
    peer: Peer
    on_beat: Callable[[], None] = field(default=lambda: None)
    ready: anyio.Event = field(default_factory=anyio.Event)
    exited: anyio.Event = field(default_factory=anyio.Event)
    code: int = 0
    asked: bool = False  # to end, by us
    hung: bool = False

    def stop(self) -> None:
        """End the wire; the child ends by itself."""
        self.asked = True
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

    def serve(self) -> None:
        """Answer what the child asks; subclasses add their methods."""
        self.peer.notifications |= {
            methods.READY: lambda _: self.ready.set(),
            methods.HEARTBEAT: lambda _: self.on_beat(),
        }


@asynccontextmanager
async def started(program: Program, make: Callable[[str, int, int, Peer], C]) -> AsyncIterator[C]:
    """A child that announced readiness; it is gone, and reaped, when the block ends.

    Raises:
        WorkerError: the child could not be started or ended before it was ready.
    """
    try:
        ours, theirs = socket.socketpair()
    except OSError as error:
        raise _cannot_start(program, error) from error
    with theirs:
        async with connected(ours) as peer:
            process, pidfd = _spawn(program, theirs)
            theirs.close()
            child = make(program.name, process.pid, pidfd, peer)
            child.serve()
            _watch(child, process)
            try:
                await _until_ready(child)
                yield child
            finally:
                with anyio.CancelScope(shield=True):
                    await _end(child)
                os.close(pidfd)


def _spawn(program: Program, theirs: socket.socket) -> tuple[subprocess.Popen[bytes], int]:
    """The child and a pidfd of it."""
    fd = theirs.fileno()
    try:
        process = subprocess.Popen(
            (*_dies_with_us(), *program.argv),
            env={**program.env, program.fd_variable: str(fd)},
            cwd=program.cwd,
            stdin=subprocess.DEVNULL,
            stdout=2,  # a stray print of a library goes to the log
            pass_fds=(fd,),
            start_new_session=True,
        )
    except (OSError, ValueError) as error:  # ValueError: a NUL character in the environment
        raise _cannot_start(program, error) from error
    _watched.add(process.pid)
    try:
        return process, os.pidfd_open(process.pid)
    except OSError as error:
        _watched.discard(process.pid)
        process.kill()
        process.wait()
        raise _cannot_start(program, error) from error


@cache
def _dies_with_us() -> tuple[str, ...]:
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


def _cannot_start(program: Program, error: Exception) -> WorkerError:
    return WorkerError(f"{program.name} cannot be started: {error}")


def _watch(child: Child, process: subprocess.Popen[bytes]) -> None:
    """Reap the child as soon as it ends, and kill what is left of its session.

    The session first: until the child is reaped, its number cannot belong to anybody else.
    """
    loop = asyncio.get_running_loop()

    def reap() -> None:
        loop.remove_reader(child.pidfd)
        for pid in members(child.pid):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        child.code = process.wait()
        _watched.discard(child.pid)
        child.exited.set()

    loop.add_reader(child.pidfd, reap)


class Process(NamedTuple):
    """A process and whose it is."""

    pid: int
    parent: int
    group: int
    session: int


def _processes() -> Iterator[Process]:
    """Every process, zombies too (proc_pid_stat(5), fields 4 to 6)."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it ended meanwhile
            # The second field is a name in parentheses, which may hold anything.
            fields = stat.read_bytes().rpartition(b")")[2].split()
            yield Process(int(stat.parent.name), *map(int, fields[1:4]))


def members(session: int, group: int | None = None) -> Iterator[int]:
    """The processes of a session, or of one group in it."""
    for process in _processes():
        if process.session == session and group in (None, process.group):
            yield process.pid


def adopt_orphans() -> None:
    """Become the parent of whatever our descendants leave behind, in the place of init."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)


async def reap_orphans(*, end: bool, ours: Callable[[Process], bool] | None = None) -> None:
    """Reap what was left behind to us, until cancelled; ``end`` it first (P1, P2).

    A process that has made a session of its own outlives its parent's. It becomes our child at the
    moment in which that parent dies, and SIGCHLD tells of it. ``ours`` are the children that
    somebody else reaps; by default those that were started here.
    """
    mine = ours or (lambda process: process.pid in _watched)
    with anyio.open_signal_receiver(signal.SIGCHLD) as signals:
        async for _ in signals:
            for process in _processes():
                if process.parent == os.getpid() and not mine(process):
                    _reap(process.pid, end=end)


def end_orphans() -> None:
    """End whatever is left below this process, when it has no children of its own any more."""
    for _ in range(LAST_LOOKS):
        left = [process.pid for process in _processes() if process.parent == os.getpid()]
        if not left:
            return
        for pid in left:
            _reap(pid, end=True)
        time.sleep(GLANCE)


def _reap(pid: int, *, end: bool) -> None:
    with suppress(ChildProcessError, ProcessLookupError, PermissionError):
        if end:
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, os.WNOHANG)


async def first_of(*events: anyio.Event) -> None:
    """Wait until one of the events is set."""

    async def wait(event: anyio.Event) -> None:
        await event.wait()
        tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        for event in events:
            tasks.start_soon(wait, event)


async def _until_ready(child: Child) -> None:
    with anyio.move_on_after(READY_TIMEOUT):
        await first_of(child.ready, child.exited)
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


async def _end(child: Child) -> None:
    """End-of-file, then TERM, then KILL, each with its time; one that hangs gets none."""
    child.peer.close()
    for number in (signal.SIGTERM, signal.SIGKILL):
        with anyio.move_on_after(0 if child.hung else TERM_TIMEOUT):
            await child.exited.wait()
        child.signal(number)
    await child.exited.wait()
