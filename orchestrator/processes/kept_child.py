"""Keep one child process running while it is needed; replace it with back-off."""

import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Generic, Protocol, TypeVar

import anyio
from pydantic import ValidationError

from orchestrator.errors import WorkerError
from orchestrator.loop_bound import LoopBound
from orchestrator.processes import restarts
from orchestrator.processes.child_process import ChildProcess, wait_for_any
from orchestrator.processes.restarts import ExitKind, History
from orchestrator.wakeup import Wakeup
from thinker.protocol.peer import PeerClosedError, RpcError

C = TypeVar("C", bound=ChildProcess)


class ChildPurpose(Protocol[C]):
    """The purpose of a kept child."""

    @property
    def is_needed(self) -> bool:
        """Whether the child has work; call `KeptChild.wake` after a change."""

    def start(self) -> AbstractAsyncContextManager[C]:
        """Start a child, and stop it with the block; see `run_child`."""

    async def update_child(self, child: C) -> None:
        """Update the running child, after its start and after every wake.

        Raises:
            RpcError, PeerClosedError, OSError, ValidationError: the child must be replaced.
        """

    def on_child_ended(self, kind: ExitKind, reason: str) -> None:
        """Note that the child has ended."""


class KeptChild(LoopBound, Generic[C]):
    """Runs one child, while `run` runs; ``probe`` is the longest back-off, in seconds."""

    def __init__(
        self,
        name: str,
        purpose: ChildPurpose[C],
        clock: Callable[[], float] = time.monotonic,
        jitter: Callable[[], float] = restarts.draw_jitter,
        probe: float = restarts.PROBE,
    ) -> None:
        self._name = name
        self._purpose = purpose
        self._clock = clock
        self._jitter = jitter
        self._probe = probe
        self.history = History()
        self.child: C | None = None
        self.changes = Wakeup()

    def wake(self) -> None:
        """Check again whether and for what the child is needed."""
        self.changes.wake()

    def forgive_failures(self) -> None:
        """Forget past failures: the child's purpose has changed."""
        self.history = restarts.forget_failures(self.history)

    async def run(self) -> None:
        """Keep the child running while it is needed, until cancelled."""
        while True:
            wanted = self._purpose.is_needed
            delay = restarts.find_start_delay(self.history, self._clock()) if wanted else None
            if delay == 0.0:
                await self._run_child()
                continue
            with anyio.move_on_after(delay):
                await self.changes.changed.wait()

    async def _run_child(self) -> None:
        """Run one process from start to end."""
        self.history = restarts.record_start(self.history, self._clock())
        kind, reason = ExitKind.CLEAN, ""
        try:
            async with self._purpose.start() as child:
                self.history = restarts.record_ready(self.history)
                self.child = child
                await self._monitor_child(child)
            kind = restarts.classify_exit(
                child.code, stop_requested=child.stop_requested, hung=child.hung, oom=False
            )
            reason = f"{self._name} ended with exit code {child.code}"
        except (WorkerError, RpcError, PeerClosedError, OSError, ValidationError) as error:
            kind, reason = ExitKind.CRASH, str(error) or f"{self._name} does not answer"
        finally:
            self.child = None
        now, jitter = self._clock(), self._jitter()
        self.history = restarts.record_exit(self.history, kind, reason, now, jitter, self._probe)
        self._purpose.on_child_ended(kind, reason)
        self.changes.wake()

    async def _monitor_child(self, child: C) -> None:
        """Keep a child up to date; end it when it is no longer needed."""
        while not child.exited.is_set() and not child.peer.closed.is_set():
            changed = self.changes.changed  # before the first await, so that none is missed
            if not self._purpose.is_needed:
                child.stop()
                return
            await self._purpose.update_child(child)
            await wait_for_any(changed, child.exited, child.peer.closed)
