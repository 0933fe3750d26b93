"""One incarnation of a worker: spawn, readiness, requests, end.

The child gets one end of a socketpair and its own session; it is watched and signalled through a
pidfd, so a signal can never reach a process that took over its number. When the wire ends, the
child ends by itself; what it started in its process group is killed with it.
"""

import asyncio
import os
import signal
import socket
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Protocol

import anyio
import structlog
from pydantic import JsonValue, ValidationError

from orchestrator.crashpoints import boundary
from orchestrator.errors import WorkerError, WorkerLostError
from orchestrator.launch import LaunchSpec
from thinker.protocol import methods
from thinker.protocol.messages import ToolResult
from thinker.protocol.methods import (
    StepCommit,
    StepCommitted,
    ToolCallParams,
    TurnCancel,
    TurnDelta,
    TurnResult,
    TurnRun,
)
from thinker.protocol.peer import FENCED, Peer, PeerClosedError, RpcError, connected

READY_TIMEOUT = 30.0  # seconds; a cold interpreter on a busy machine needs a few
TERM_TIMEOUT = 3.0  # seconds from asking to killing
TURN_GRACE = 30.0  # seconds beyond a turn's own deadline before its worker counts as hung
log = structlog.get_logger()


class TurnHost(Protocol):
    """Who keeps a turn's journal while a worker runs it."""

    async def commit(self, commit: StepCommit) -> StepCommitted:
        """T3."""

    async def call_tool(self, seq: int) -> ToolResult:
        """Policy, T4, effect, T5."""

    def show(self, text: str) -> None:
        """The answer so far."""


@dataclass
class Worker:
    """A running child. Requests of turns that it does not run (any more) are refused."""

    spec: LaunchSpec
    pid: int
    pidfd: int
    peer: Peer
    on_beat: Callable[[], None] = field(default=lambda: None)
    ready: anyio.Event = field(default_factory=anyio.Event)
    exited: anyio.Event = field(default_factory=anyio.Event)
    turns: dict[str, TurnHost] = field(default_factory=dict)
    users: int = 0  # callers that hold it, with a turn or about to run one
    code: int = 0
    asked: bool = False  # to end, by us
    hung: bool = False

    @property
    def usable(self) -> bool:
        """Whether a new turn may be given to it."""
        ending = self.asked or self.hung
        return not (ending or self.exited.is_set() or self.peer.closed.is_set())

    async def run_turn(self, run: TurnRun, host: TurnHost, now: float) -> TurnResult:
        """Let the child run a turn to its end.

        Raises:
            WorkerLostError: the child went away, or did not end the turn long after its deadline.
            WorkerError: it answered with an error.
        """
        self.turns[run.turn_id] = host
        boundary("run_turn:before")
        try:
            result = await self.peer.call(
                methods.TURN_RUN,
                run,
                TurnResult,
                timeout=max(0.0, run.deadline - now) + TURN_GRACE,
            )
        except PeerClosedError as error:
            raise WorkerLostError(f"agent {self.spec.agent_id!r} lost its process") from error
        except TimeoutError as error:
            self.abort("a turn ran far over its deadline")
            raise WorkerLostError(f"agent {self.spec.agent_id!r} hung") from error
        except (RpcError, ValidationError) as error:
            raise WorkerError(f"agent {self.spec.agent_id!r}: {error}") from error
        finally:
            del self.turns[run.turn_id]
            self.peer.notify(methods.TURN_CANCEL, TurnCancel(turn_id=run.turn_id))
        boundary("run_turn:after")
        return result

    def drain(self) -> None:
        """Ask the child to leave each turn at its next step boundary."""
        self.asked = True
        self.peer.notify(methods.DRAIN)

    def stop(self) -> None:
        """End the wire; the child ends by itself."""
        self.asked = True
        self.peer.close()

    def abort(self, why: str) -> None:
        """Have the child print where it hangs, and die."""
        log.error("worker_hung", agent_id=self.spec.agent_id, pid=self.pid, why=why)
        self.hung = True
        self.signal(signal.SIGABRT)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to this very process; nothing happens when it has ended."""
        if not self.exited.is_set():
            signal.pidfd_send_signal(self.pidfd, number)

    # --- what the child asks for ---------------------------------------------------------------

    def _host(self, turn_id: str) -> TurnHost:
        host = self.turns.get(turn_id)
        if host is None:
            raise RpcError(FENCED, f"turn {turn_id} is not run by this process")
        return host

    async def _commit(self, params: JsonValue) -> StepCommitted:
        commit = StepCommit.model_validate(params)
        return await self._host(commit.turn_id).commit(commit)

    async def _call_tool(self, params: JsonValue) -> ToolResult:
        call = ToolCallParams.model_validate(params)
        return await self._host(call.turn_id).call_tool(call.seq)

    def _delta(self, params: JsonValue) -> None:
        delta = TurnDelta.model_validate(params)
        host = self.turns.get(delta.turn_id)
        if host is not None:
            host.show(delta.text)

    def serve(self) -> None:
        """Answer what the child asks."""
        self.peer.requests |= {
            methods.STEP_COMMIT: self._commit,
            methods.TOOL_CALL: self._call_tool,
        }
        self.peer.notifications |= {
            methods.READY: lambda _: self.ready.set(),
            methods.HEARTBEAT: lambda _: self.on_beat(),
            methods.TURN_DELTA: self._delta,
        }


@asynccontextmanager
async def started(spec: LaunchSpec) -> AsyncIterator[Worker]:
    """A child that announced readiness; it is gone, and reaped, when the block ends.

    Raises:
        WorkerError: the child could not be started or ended before it was ready.
    """
    try:
        ours, theirs = socket.socketpair()
    except OSError as error:
        raise _cannot_start(spec, error) from error
    with theirs:
        async with connected(ours) as peer, _running(spec, theirs, peer) as worker:
            yield worker


@asynccontextmanager
async def _running(spec: LaunchSpec, theirs: socket.socket, peer: Peer) -> AsyncIterator[Worker]:
    process, pidfd = _spawn(spec, theirs)
    theirs.close()
    worker = Worker(spec, process.pid, pidfd, peer)
    worker.serve()
    _watch(worker, process)
    try:
        await _until_ready(worker)
        yield worker
    finally:
        with anyio.CancelScope(shield=True):
            await _end(worker)
        os.close(pidfd)


def _spawn(spec: LaunchSpec, theirs: socket.socket) -> tuple[subprocess.Popen[bytes], int]:
    """The child and a pidfd of it."""
    fd = theirs.fileno()
    try:
        process = subprocess.Popen(
            spec.argv,
            env={**spec.env, "THINKER_PEER_FD": str(fd)},
            cwd=spec.cwd,
            stdin=subprocess.DEVNULL,
            stdout=2,  # a stray print of a library goes to the log
            pass_fds=(fd,),
            start_new_session=True,
        )
    except (OSError, ValueError) as error:  # ValueError: a NUL character in the environment
        raise _cannot_start(spec, error) from error
    try:
        return process, os.pidfd_open(process.pid)
    except OSError as error:
        process.kill()
        process.wait()
        raise _cannot_start(spec, error) from error


def _cannot_start(spec: LaunchSpec, error: Exception) -> WorkerError:
    return WorkerError(f"agent {spec.agent_id!r} cannot be started: {error}")


def _watch(worker: Worker, process: subprocess.Popen[bytes]) -> None:
    """Reap the child as soon as it ends, and kill what is left of its process group.

    The group first: until the child is reaped, its number cannot belong to anybody else.
    """
    loop = asyncio.get_running_loop()

    def reap() -> None:
        loop.remove_reader(worker.pidfd)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(worker.pid, signal.SIGKILL)
        worker.code = process.wait()
        worker.exited.set()

    loop.add_reader(worker.pidfd, reap)


async def _until_ready(worker: Worker) -> None:
    async def wait(event: anyio.Event, scope: anyio.CancelScope) -> None:
        await event.wait()
        scope.cancel()

    with anyio.move_on_after(READY_TIMEOUT):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait, worker.ready, tasks.cancel_scope)
            tasks.start_soon(wait, worker.exited, tasks.cancel_scope)
    if worker.exited.is_set():
        raise WorkerError(
            f"agent {worker.spec.agent_id!r} ended at its start with exit code {worker.code};"
            " its log says why",
            worker.code,
        )
    if not worker.ready.is_set():
        worker.hung = True
        raise WorkerError(f"agent {worker.spec.agent_id!r} was not ready in {READY_TIMEOUT:.0f} s")


async def _end(worker: Worker) -> None:
    """End-of-file, then TERM, then KILL, each with its time; one that hangs gets none."""
    worker.peer.close()
    for number in (signal.SIGTERM, signal.SIGKILL):
        with anyio.move_on_after(0 if worker.hung else TERM_TIMEOUT):
            await worker.exited.wait()
        worker.signal(number)
    await worker.exited.wait()
