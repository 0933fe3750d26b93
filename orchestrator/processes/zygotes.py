"""Workers forked from a warm process: ready in milliseconds, most of their memory shared.

The zygote (`thinker.zygote`) is a child like others; what it forks are its children, watched and
signalled by us through pidfds, and reaped by it when we say so. It gets no key: a worker reads its
environment from a file that only passes through. When it dies its workers die with it, and their
turns go on in new ones. While there is none, and for what cannot be forked, workers are executed.
"""

import os
import random
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import anyio
import structlog
from pydantic import ValidationError

from orchestrator.errors import WorkerError
from orchestrator.processes import restarts
from orchestrator.processes.child_process import (
    Child,
    Program,
    Spawned,
    cannot_start,
    execute,
    running_child,
    wait_any,
)
from orchestrator.processes.launch import WORKER
from orchestrator.processes.restarts import ExitKind, History, WorkerState
from orchestrator.settings import Settings, bundled
from thinker.protocol import env, methods
from thinker.protocol.env import ThinkerSettings, inherited
from thinker.protocol.methods import Forked, Reaped
from thinker.protocol.peer import PeerClosedError, RpcError

ARGV = (sys.executable, "-P", "-m", "thinker.zygote")
START_WAIT = 2.0  # seconds that a worker waits for a zygote that is just starting
TIMEOUT = 2.0  # seconds; nothing that it is asked takes it more than a few milliseconds
SOURCE_CHECK = 1.0  # seconds between two looks at the code
PING = 10.0  # seconds between two looks at a zygote
DRAIN_TIMEOUT = 10.0  # seconds that its workers get to end before it does, when all ends
GROWTH = 32 * 1024 * 1024  # bytes that it may have more than when it was ready
STARTABLE = (
    WorkerState.STOPPED,
    WorkerState.STARTING,
)  # a zygote is, or is just about to be, started
FAILURES = (PeerClosedError, RpcError, OSError, ValidationError)  # TimeoutError is an OSError
# Read when an interpreter or its libraries start, which a forked worker does not.
STARTUP_VARIABLES = ("PYTHON", "LD_", "LC_", "LANG", "MALLOC_", "GLIBC_", "OPENSSL_", "SSL")
PACKAGE = Path(env.__file__).parent.parent
LIBRARIES = Path(anyio.__file__).parent.parent  # changes when something is installed
log = structlog.get_logger()


@dataclass
class ZygoteClient(Child):
    """A running zygote. ``descriptors`` is the socket that takes those of new workers."""

    descriptors: socket.socket = field(kw_only=True)
    workers: int = 0  # forked and not reaped
    retired: anyio.Event = field(default_factory=anyio.Event)
    _reaped: anyio.Event = field(default_factory=anyio.Event)

    async def fork(self, program: Program) -> Spawned:
        """Fork a worker.

        Raises:
            WorkerError: the system refuses.
            PeerClosedError, RpcError, OSError, ValidationError: this zygote cannot do it.
        """
        try:
            program.cwd.stat()
            start = env.pack_start(program.cwd, program.env)
            ours, theirs = socket.socketpair()
        except (OSError, ValueError) as error:
            raise cannot_start(program, error) from error
        # What waits here is short, and whoever is cancelled meanwhile must know of the worker.
        with theirs, anyio.CancelScope(shield=True):
            try:
                self._send(theirs.fileno(), start)
                answer = await self.peer.call(methods.FORK, None, Forked, timeout=TIMEOUT)
                pidfd = os.pidfd_open(answer.pid)
            except BaseException:
                ours.close()  # a worker that comes too late ends at once
                raise
        self.workers += 1
        return Spawned(ours, answer.pid, pidfd, partial(self._reap, answer.pid))

    def _send(self, wire: int, start: bytes) -> None:
        with os.fdopen(os.memfd_create("start"), "wb") as file:
            file.write(start)
            file.flush()
            socket.send_fds(self.descriptors, [b"."], [wire, file.fileno()])

    async def _reap(self, pid: int) -> int:
        """The exit code of a worker that has ended; -SIGKILL when nobody can tell."""
        try:
            ended = Forked(pid=pid)
            code = (await self.peer.call(methods.REAP, ended, Reaped, timeout=TIMEOUT)).code
        except FAILURES:
            code = -signal.SIGKILL
            self.signal(signal.SIGKILL)
        self.workers -= 1
        self._reaped.set()
        self._reaped = anyio.Event()
        return code

    async def drained(self) -> None:
        """Wait until it has no worker any more, or has ended itself."""
        while self.workers and not self.exited.is_set():
            await wait_any(self._reaped, self.exited)

    def memory(self) -> int:
        """Its resident memory in bytes (proc_pid_statm(5), the second field)."""
        pages = Path(f"/proc/{self.pid}/statm").read_bytes().split()[1]
        return int(pages) * os.sysconf("SC_PAGESIZE")


class Zygotes:
    """Keeps one zygote ready; `run` must be running. ``growth`` in bytes, ``ping`` in seconds."""

    def __init__(
        self,
        settings: Settings,
        environ: Mapping[str, str],
        *,
        growth: int = GROWTH,
        ping: float = PING,
        code: Path = PACKAGE,
    ) -> None:
        told = ThinkerSettings(
            default_system_prompt_path=bundled("prompts") / "default-system-prompt.md",
            skills_dirs=(bundled("skills"), settings.paths.skills),
        )
        self._env = {**inherited(environ), **told.to_env()}
        self._cwd = settings.home
        self._growth = growth
        self._ping = ping
        self._code = SourceFiles(code)
        self._history = History()
        self._zygote: ZygoteClient | None = None
        self._changed = anyio.Event()

    async def spawn(self, program: Program) -> Spawned:
        """Start a worker: forked if that is possible, else executed.

        Raises:
            WorkerError: it cannot be started.
        """
        zygote = await self.ready() if self._can_fork(program) else None
        if zygote is not None:
            try:
                return await zygote.fork(program)
            except FAILURES as error:
                zygote.hung = True
                self._retire(zygote, ExitKind.HANG, f"it did not fork ({error!r})")
        return await execute(program)

    def _can_fork(self, program: Program) -> bool:
        """Whether a fork would be the same process."""
        return program.argv == WORKER and _startup_variables(program.env) == _startup_variables(
            self._env
        )

    async def ready(self) -> ZygoteClient | None:
        """A zygote of the newest code, waited for if it is just starting."""
        if self._zygote is not None and self._code.changed():
            self._retire(self._zygote, ExitKind.CLEAN, "the code changed")
        with anyio.move_on_after(START_WAIT):
            while self._zygote is None and self._history.state in STARTABLE:
                await self._changed.wait()
        return self._zygote

    # --- the process -----------------------------------------------------------------------

    async def run(self) -> None:
        """Keep a zygote ready, until cancelled. Those that are retired stay with their workers."""
        async with anyio.create_task_group() as tasks:
            while True:
                with anyio.move_on_after(restarts.wait(self._history, time.monotonic())):
                    await anyio.sleep_forever()
                self._history = restarts.starting(self._history, time.monotonic())
                tasks.start_soon(self._run_zygote)
                while self._history.state in {WorkerState.STARTING, WorkerState.RUNNING}:
                    await self._changed.wait()

    async def _run_zygote(self) -> None:
        """One zygote, from its start to the end of its last worker."""
        try:
            async with self._started() as zygote:
                self._history = restarts.ready(self._history)
                took = round((time.monotonic() - self._history.started) * 1000, 1)
                log.info("zygote_ready", pid=zygote.pid, ms=took)
                self._zygote = zygote
                self._notify()
                try:
                    await self._monitor(zygote)
                    await zygote.drained()
                finally:
                    with anyio.move_on_after(DRAIN_TIMEOUT, shield=True):
                        await zygote.drained()
        except WorkerError as error:
            log.error("zygote_failed", problem=str(error))
            self._ended(ExitKind.CRASH, str(error))

    @asynccontextmanager
    async def _started(self) -> AsyncIterator[ZygoteClient]:
        try:
            self._code.changed()
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        except OSError as error:
            raise WorkerError(f"the zygote cannot be started: {error}") from error
        ours.setblocking(False)  # noqa: FBT003 - the standard library takes it by position
        with ours, theirs:
            program = Program(
                "the zygote", ARGV, self._env, self._cwd, "THINKER_PEER_FD", theirs.fileno()
            )
            async with running_child(program, partial(ZygoteClient, descriptors=ours)) as zygote:
                theirs.close()
                yield zygote

    async def _monitor(self, zygote: ZygoteClient) -> None:
        """Look after a zygote until it is retired."""
        size = zygote.memory()
        while not zygote.retired.is_set():
            with anyio.move_on_after(self._ping):
                await wait_any(zygote.retired, zygote.exited, zygote.peer.closed)
            if zygote.exited.is_set() or zygote.peer.closed.is_set():
                self._retire(zygote, ExitKind.CRASH, "it ended")
                return
            try:
                await zygote.peer.request(methods.PING, timeout=TIMEOUT)
                grown = zygote.memory() - size
            except FAILURES:
                zygote.hung = True
                self._retire(zygote, ExitKind.HANG, "it does not answer")
                return
            if grown > self._growth:
                reason = f"it has grown by {grown >> 20} MB"
                self._retire(zygote, ExitKind.CLEAN, reason)

    def _retire(self, zygote: ZygoteClient, kind: ExitKind, reason: str) -> None:
        """Give it no more work; once it has no workers, it goes."""
        if zygote.retired.is_set():
            return
        zygote.retired.set()
        self._zygote = None
        log.info("zygote_retired", pid=zygote.pid, kind=kind, reason=reason)
        self._ended(kind, reason)

    def _ended(self, kind: ExitKind, reason: str) -> None:
        jitter = random.uniform(0.5, 1.5)  # noqa: S311 - not a secret
        self._history = restarts.ended(self._history, kind, reason, time.monotonic(), jitter)
        self._notify()

    def _notify(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()


class SourceFiles:
    """The files that workers are made of: their names, times and sizes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen: object = None
        self._scanned_at = 0.0

    def changed(self) -> bool:
        """Whether anything changed since the last time that this was asked; looks once a second."""
        now = time.monotonic()
        if now - self._scanned_at < SOURCE_CHECK:
            return False
        self._scanned_at = now
        before, self._seen = self._seen, self._scan()
        return before != self._seen

    def _scan(self) -> object:
        return set(_sources(str(self._folder))), LIBRARIES.stat().st_mtime_ns


def _sources(folder: str) -> Iterator[tuple[str, int, int]]:
    """All Python files below a folder; with scandir, as somebody waits for a worker."""
    with suppress(OSError), os.scandir(folder) as entries:  # an upgrade may take it away
        for entry in entries:
            if entry.name.endswith(".py"):
                with suppress(OSError):
                    stat = entry.stat()
                    yield entry.path, stat.st_mtime_ns, stat.st_size
            elif entry.name != "__pycache__" and entry.is_dir():
                yield from _sources(entry.path)


def _startup_variables(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if name.startswith(STARTUP_VARIABLES)}
