"""Fork workers from a warm process: they are ready in milliseconds and share most memory.

The broker is forked as well, for its memory. The first zygote (`thinker.zygote`) is forked from the
daemon by `first_zygote`, the next ones are executed: one is replaced when its code changes, it
grows or it hangs. Forked processes are the zygote's children: the supervisor watches
and signals them through pidfds, and the zygote reaps them on request. The zygote never sees a key:
they read their environment from a file descriptor that only passes through. When a zygote dies,
they die too; the turns of its workers continue in new ones.

Where: are workers forked?
"""

import asyncio
import os
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
from orchestrator.home_paths import find_bundled_path
from orchestrator.processes import model_broker, restarts
from orchestrator.processes.child_process import (
    DescriptorChild,
    Program,
    SpawnedChild,
    SpawnedProcess,
    build_start_error,
    execute_program,
    run_child_with_descriptors,
    wait_for_any,
)
from orchestrator.processes.launch import WORKER
from orchestrator.processes.restarts import ExitKind, History, WorkerState
from orchestrator.settings import Settings
from orchestrator.wakeup import Wakeup
from thinker.protocol import env, methods
from thinker.protocol.env import (
    NO_PLUGINS,
    PROGRAM_WIRE,
    ThinkerSettings,
    pack_start,
    select_inherited_variables,
)
from thinker.protocol.methods import ForkedWorker, ReapedWorker
from thinker.protocol.peer import PeerClosedError, RpcError

ARGV = (sys.executable, "-P", "-m", "thinker.zygote")
FORKED = (WORKER, model_broker.ARGV)
START_WAIT = 2.0  # seconds that a worker waits for a zygote that is starting
BROKER_WAIT = 10.0  # the same of the broker, which no worker needs before there is one
TIMEOUT = 2.0  # seconds; every request takes a zygote a few milliseconds
SOURCE_CHECK = 1.0  # seconds between two checks for changed code
PING = 10.0  # seconds between two checks of a zygote
DRAIN_TIMEOUT = 10.0  # seconds for its workers to end when the daemon stops
GROWTH = 32 * 1024 * 1024  # bytes beyond its size when it was ready
EXPECTED = (WorkerState.STOPPED, WorkerState.STARTING)  # states before a ready zygote
FAILURES = (PeerClosedError, RpcError, OSError, ValidationError)  # TimeoutError is an OSError
# Prefixes of variables that are read when an interpreter or its libraries start.
STARTUP_VARIABLES = ("PYTHON", "LD_", "LC_", "LANG", "MALLOC_", "GLIBC_", "OPENSSL_", "SSL")
PACKAGE = Path(env.__file__).parent.parent
LIBRARIES = Path(anyio.__file__).parent.parent  # changes when something is installed
log = structlog.get_logger()


@dataclass(kw_only=True)
class ZygoteClient(DescriptorChild):
    """A running zygote, which takes descriptors for new workers."""

    workers: int = 0  # and brokers: forked but not yet reaped
    retired: asyncio.Event = field(default_factory=asyncio.Event)
    _reaped: Wakeup = field(default_factory=Wakeup)

    async def fork_worker(self, program: Program) -> SpawnedProcess:
        """Fork a worker, or the broker.

        Raises:
            WorkerError: the system refuses to fork. PeerClosedError, RpcError, OSError,
            ValidationError: this zygote failed to fork.
        """
        try:
            program.cwd.stat()
            start = _pack_program(program)
            ours, theirs = socket.socketpair()
        except (OSError, ValueError) as error:
            raise build_start_error(program, error) from error
        # Shielded: a caller that is cancelled must not lose track of the new worker.
        with theirs, anyio.CancelScope(shield=True):
            try:
                self._send_start(theirs.fileno(), start, program)
                answer = await self.peer.call(methods.FORK, None, ForkedWorker, timeout=TIMEOUT)
                pidfd = os.pidfd_open(answer.pid)
            except BaseException:
                ours.close()  # a worker that starts too late ends immediately
                raise
        self.workers += 1
        return SpawnedProcess(
            ours, answer.pid, pidfd, partial(self._wait_for_exit_code, answer.pid)
        )

    def _send_start(self, wire: int, start: bytes, program: Program) -> None:
        message, last = b".", program.broker
        if program.argv != WORKER:
            message, last = program.argv[-1].encode(), program.stdin
        with os.fdopen(os.memfd_create("start"), "wb") as file:
            file.write(start)
            file.flush()
            passed = [wire, file.fileno(), *(() if last is None else (last,))]
            socket.send_fds(self.descriptors, [message], passed)

    async def _wait_for_exit_code(self, pid: int) -> int:
        """Return the exit code of a worker that has ended; -SIGKILL without an answer."""
        try:
            ended = ForkedWorker(pid=pid)
            code = (await self.peer.call(methods.REAP, ended, ReapedWorker, timeout=TIMEOUT)).code
        except FAILURES:
            code = -signal.SIGKILL
            self.signal(signal.SIGKILL)
        self.workers -= 1
        self._reaped.wake()
        return code

    async def wait_until_drained(self) -> None:
        """Wait until the last worker has been reaped, or the zygote has ended."""
        while self.workers and not self.exited.is_set():
            await wait_for_any(self._reaped.changed, self.exited)

    def measure_memory(self) -> int:
        """Return the zygote's resident memory in bytes (proc_pid_statm(5), the second field)."""
        pages = Path(f"/proc/{self.pid}/statm").read_bytes().split()[1]
        return int(pages) * os.sysconf("SC_PAGESIZE")


class Zygotes:
    """Keeps one zygote ready while `run` runs, and spawns workers from it.

    ``growth``: bytes after which a zygote is replaced. ``ping``: seconds between two checks.
    ``code``: the folder whose changes replace it.
    """

    def __init__(
        self,
        settings: Settings,
        environ: Mapping[str, str],
        *,
        growth: int = GROWTH,
        ping: float = PING,
        code: Path = PACKAGE,
    ) -> None:
        thinker = ThinkerSettings(
            default_system_prompt_path=settings.find_default_prompt().path,
            skills_dirs=(find_bundled_path("skills"), settings.paths.skills),
        )
        self._env = {**select_inherited_variables(environ), **thinker.to_env(), **NO_PLUGINS}
        self._cwd = settings.home
        self._growth = growth
        self._ping = ping
        self._code = SourceFiles(code)
        self._history = History()
        self._zygote: ZygoteClient | None = None
        self._changes = Wakeup()

    @property
    def current_zygote(self) -> ZygoteClient | None:
        """The zygote that forks the next worker."""
        return self._zygote

    async def spawn_worker(self, program: Program) -> SpawnedChild:
        """Start a worker or the broker: fork it if possible, otherwise execute it."""
        wait = START_WAIT if program.argv == WORKER else BROKER_WAIT
        zygote = await self.wait_for_zygote(wait) if self._can_fork(program) else None
        if zygote is not None:
            try:
                return await zygote.fork_worker(program)
            except FAILURES as error:
                zygote.hung = True
                self._retire_zygote(zygote, ExitKind.HANG, f"it did not fork ({error!r})")
        return await execute_program(program)

    def _can_fork(self, program: Program) -> bool:
        """Return whether a forked process would equal an executed one."""
        jailed = program.env.get("THINKER_SANDBOX", "on") == "on"  # as the preforked worker is
        env = program.env
        if program.argv == model_broker.ARGV:  # which reads them itself
            env = {name: env[name] for name in env if name.lower() not in model_broker.NETWORK}
        same = _select_startup_variables(env) == _select_startup_variables(self._env)
        return program.argv in FORKED and jailed and same

    async def wait_for_zygote(self, seconds: float = START_WAIT) -> ZygoteClient | None:
        """Return a zygote of the newest code, or None; wait for one that is starting."""
        if self._zygote is not None and self._code.has_changed():
            self._retire_zygote(self._zygote, ExitKind.CLEAN, "the code changed")
        with anyio.move_on_after(seconds):
            while self._zygote is None and self._history.state in EXPECTED:
                await self._changes.changed.wait()
        return self._zygote

    async def run(self) -> None:
        """Keep a zygote ready until cancelled; a retired one lives until its last worker ends."""
        async with anyio.create_task_group() as tasks:
            while True:
                with anyio.move_on_after(
                    restarts.find_start_delay(self._history, time.monotonic())
                ):
                    await anyio.sleep_forever()
                self._history = restarts.record_start(self._history, time.monotonic())
                tasks.start_soon(self._run_zygote)
                while self._history.state in {WorkerState.STARTING, WorkerState.RUNNING}:
                    await self._changes.changed.wait()

    async def _run_zygote(self) -> None:
        """Run one zygote from its start to the end of its last worker."""
        try:
            async with self._start_zygote() as zygote:
                self._history = restarts.record_ready(self._history)
                took = round((time.monotonic() - self._history.started) * 1000, 1)
                log.debug("zygote_ready", pid=zygote.pid, ms=took)
                self._zygote = zygote
                self._changes.wake()
                try:
                    await self._monitor_zygote(zygote)
                    await zygote.wait_until_drained()
                finally:
                    with anyio.move_on_after(DRAIN_TIMEOUT, shield=True):
                        await zygote.wait_until_drained()
        except WorkerError as error:
            log.error("zygote_failed", problem=str(error))
            self._record_end(ExitKind.CRASH, str(error))

    @asynccontextmanager
    async def _start_zygote(self) -> AsyncIterator[ZygoteClient]:
        try:
            self._code.has_changed()
        except OSError as error:
            raise WorkerError(f"the zygote cannot be started: {error}") from error
        program = Program("the zygote", ARGV, self._env, self._cwd, "THINKER_PEER_FD")
        async with run_child_with_descriptors(program, ZygoteClient) as zygote:
            yield zygote

    async def _monitor_zygote(self, zygote: ZygoteClient) -> None:
        """Watch a zygote until it is retired: retire it when it ends, hangs or grows."""
        size = zygote.measure_memory()
        while not zygote.retired.is_set():
            with anyio.move_on_after(self._ping):
                await wait_for_any(zygote.retired, zygote.exited, zygote.peer.closed)
            if zygote.exited.is_set() or zygote.peer.closed.is_set():
                self._retire_zygote(zygote, ExitKind.CRASH, "it ended")
                return
            try:
                await zygote.peer.request(methods.PING, timeout=TIMEOUT)
                grown = zygote.measure_memory() - size
            except FAILURES:
                zygote.hung = True
                self._retire_zygote(zygote, ExitKind.HANG, "it does not answer")
                return
            if grown > self._growth:
                reason = f"it has grown by {grown >> 20} MB"
                self._retire_zygote(zygote, ExitKind.CLEAN, reason)

    def _retire_zygote(self, zygote: ZygoteClient, kind: ExitKind, reason: str) -> None:
        """Fork no more workers from a zygote; it ends after its last worker."""
        if zygote.retired.is_set():
            return
        zygote.retired.set()
        self._zygote = None
        log.log(kind.log_level, "zygote_retired", pid=zygote.pid, kind=kind, reason=reason)
        self._record_end(kind, reason)

    def _record_end(self, kind: ExitKind, reason: str) -> None:
        now, jitter = time.monotonic(), restarts.draw_jitter()
        self._history = restarts.record_exit(self._history, kind, reason, now, jitter)
        self._changes.wake()


@dataclass
class SourceFiles:
    """The Python files that workers run, by path, time and size."""

    folder: Path
    seen: object = None
    scanned_at: float = 0.0

    def has_changed(self) -> bool:
        """Return whether a file has changed since the last scan; scans once per `SOURCE_CHECK`."""
        now = time.monotonic()
        if now - self.scanned_at < SOURCE_CHECK:
            return False
        self.scanned_at = now
        before = self.seen
        self.seen = set(_iter_sources(str(self.folder))), LIBRARIES.stat().st_mtime_ns
        return before != self.seen


def _iter_sources(folder: str) -> Iterator[tuple[str, int, int]]:
    """Yield all Python files below a folder; scandir, because a turn waits for its worker."""
    with suppress(OSError), os.scandir(folder) as entries:  # an upgrade may remove it
        for entry in entries:
            if entry.name.endswith(".py"):
                with suppress(OSError):
                    stat = entry.stat()
                    yield entry.path, stat.st_mtime_ns, stat.st_size
            elif entry.name != "__pycache__" and entry.is_dir():
                yield from _iter_sources(entry.path)


def _pack_program(program: Program) -> bytes:
    """Encode what the new process reads; a worker takes the number of its wire from the zygote."""
    env = program.env
    if program.argv != WORKER:
        env = {**env, program.fd_variable: str(PROGRAM_WIRE)}
    return pack_start(program.cwd, env)


def _select_startup_variables(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if name.startswith(STARTUP_VARIABLES)}
