"""Keep one child process running while it is wanted, and replace it, with back-off."""

import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Generic, Protocol, TypeVar

import anyio
from pydantic import ValidationError

from orchestrator.errors import WorkerError
from orchestrator.loop_owned import LoopOwned
from orchestrator.processes import restarts
from orchestrator.processes.child_process import ChildProcess, wait_any
from orchestrator.processes.restarts import ExitKind, History
from orchestrator.wakeup import Wakeup
from thinker.protocol.peer import PeerClosedError, RpcError

C = TypeVar("C", bound=ChildProcess)


class Duty(Protocol[C]):
    """What a kept child is for."""

    @property
    def wanted(self) -> bool:
        """Whether it has something to do; `KeptChild.wake` tells of a change."""

    def start(self) -> AbstractAsyncContextManager[C]:
        """Start one, and end it when the block ends; see `running_child`."""

    async def attend(self, child: C) -> None:
        """Bring a running one up to date, after its start and after every wake.

        Raises:
            RpcError, PeerClosedError, OSError, ValidationError: it must be replaced.
        """

    def ended(self, kind: ExitKind, reason: str) -> None:
        """Take note that it has ended."""


class KeptChild(LoopOwned, Generic[C]):
    """Runs one child, while `run` runs; ``probe`` is the longest back-off, in seconds."""

    def __init__(
        self,
        name: str,
        duty: Duty[C],
        clock: Callable[[], float] = time.monotonic,
        jitter: Callable[[], float] = restarts.jitter,
        probe: float = restarts.PROBE,
    ) -> None:
        self._name = name
        self._duty = duty
        self._clock = clock
        self._jitter = jitter
        self._probe = probe
        self.history = History()
        self.child: C | None = None
        self.changes = Wakeup()

    def wake(self) -> None:
        """Look again at what the child is wanted for."""
        self.changes.wake()

    def forgive(self) -> None:
        """Forget past failures: what the child is for has changed."""
        self.history = restarts.forgiven(self.history)

    async def run(self) -> None:
        """Keep the child running while it is wanted, until canceled."""
        while True:
            wanted = self._duty.wanted
            delay = restarts.wait(self.history, self._clock()) if wanted else None
            if delay == 0.0:
                await self._run_child()
                continue
            with anyio.move_on_after(delay):
                await self.changes.changed.wait()

    async def _run_child(self) -> None:
        """Run one process from start to end."""
        self.history = restarts.starting(self.history, self._clock())
        kind, reason = ExitKind.CLEAN, ""
        try:
            async with self._duty.start() as child:
                self.history = restarts.ready(self.history)
                self.child = child
                await self._monitor(child)
            kind = restarts.classify(
                child.code, stop_requested=child.stop_requested, hung=child.hung, oom=False
            )
            reason = f"{self._name} ended with exit code {child.code}"
        except (WorkerError, RpcError, PeerClosedError, OSError, ValidationError) as error:
            kind, reason = ExitKind.CRASH, str(error) or f"{self._name} does not answer"
        finally:
            self.child = None
        now, jitter = self._clock(), self._jitter()
        self.history = restarts.ended(self.history, kind, reason, now, jitter, self._probe)
        self._duty.ended(kind, reason)
        self.changes.wake()

    async def _monitor(self, child: C) -> None:
        """Keep a child up to date; end it when it is not wanted any more."""
        while not child.exited.is_set() and not child.peer.closed.is_set():
            changed = self.changes.changed  # before the first await, so that none is missed
            if not self._duty.wanted:
                child.stop()
                return
            await self._duty.attend(child)
            await wait_any(changed, child.exited, child.peer.closed)
