"""All workers: started on demand, shared by concurrent callers, stopped when idle.

Each agent has a slot with its own history; a worker that crashes, hangs or leaks changes nothing
for the other slots. Failures are handled by `orchestrator.restarts`, one pure function.
"""

import random
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import structlog
from anyio.abc import TaskGroup

from orchestrator import restarts
from orchestrator.errors import (
    OrchestratorError,
    QuarantinedError,
    UnknownAgentError,
    WorkerError,
)
from orchestrator.launch import LaunchSpec, write_prompt
from orchestrator.restarts import ExitKind, History, WorkerState
from orchestrator.worker import Worker, started

HEARTBEATS_MISSED = 3
HEARTBEAT = 5.0  # seconds, as thinker.protocol.env says
ABORT_TIMEOUT = 3.0  # seconds for the stack dump before the kill (P6)
log = structlog.get_logger()


@dataclass
class Slot:
    """One agent's place: its launch spec, what happened so far, and its worker if it has one."""

    spec: LaunchSpec
    idle_seconds: float
    history: History = field(default_factory=History)
    worker: Worker | None = None
    changed: anyio.Event = field(default_factory=anyio.Event)
    wanted: int = 0  # callers that wait for, or use, the worker
    idle_since: float = 0.0
    serving: bool = False  # a task lives for this slot

    def notify(self) -> None:
        """Wake whoever waits for a change of state."""
        self.changed.set()
        self.changed = anyio.Event()


class Supervisor:
    """Owns every worker process. ``tasks`` must outlive it."""

    def __init__(
        self,
        tasks: TaskGroup,
        clock: Callable[[], float] = time.monotonic,
        jitter: Callable[[], float] = lambda: random.uniform(0.5, 1.5),  # noqa: S311 - not a secret
    ) -> None:
        self._tasks = tasks
        self._clock = clock
        self._jitter = jitter
        self._slots: dict[str, Slot] = {}
        self.stopping = False

    def define(self, spec: LaunchSpec, idle_minutes: float) -> None:
        """Add an agent, or change one: a running worker of the old spec drains and goes."""
        slot = self._slots.get(spec.agent_id)
        write_prompt(spec)
        if slot is None:
            self._slots[spec.agent_id] = Slot(spec, idle_minutes * 60)
            return
        slot.idle_seconds = idle_minutes * 60
        if slot.spec != spec:
            slot.spec = spec
            slot.history = restarts.forgiven(slot.history)
            if slot.worker is not None:
                slot.worker.drain()
            slot.notify()

    def remove(self, agent_id: str) -> None:
        """Forget an agent; its worker finishes the turns it has and goes."""
        slot = self._slots.pop(agent_id, None)
        if slot is not None:
            if slot.worker is not None:
                slot.worker.asked = True
            slot.spec.prompt_path.unlink(missing_ok=True)
            slot.notify()

    def resume(self, agent_id: str) -> None:
        """Give a quarantined agent a fresh start.

        Raises:
            UnknownAgentError: there is no such agent.
        """
        slot = self._slot(agent_id)
        slot.history = restarts.forgiven(slot.history)
        slot.notify()

    def slots(self) -> Mapping[str, Slot]:
        """Every agent's slot, for `orchestrator status`."""
        return self._slots

    @asynccontextmanager
    async def using(self, agent_id: str) -> AsyncIterator[Worker]:
        """The agent's running worker, started if need be, and kept while the block lasts.

        Waits through a back-off. Concurrent callers share one start.

        Raises:
            UnknownAgentError: the agent was removed, or the daemon stops.
            QuarantinedError: see `available`.
        """
        slot = self._slot(agent_id)
        slot.wanted += 1
        try:
            yield await self._acquire(slot)
        finally:
            slot.wanted -= 1
            slot.idle_since = self._clock()
            slot.notify()

    async def available(self, agent_id: str) -> None:
        """Wait until a quarantined agent may be tried again.

        Raises:
            UnknownAgentError: the agent was removed.
        """
        while True:
            slot = self._slot(agent_id)
            delay = restarts.wait(slot.history, self._clock())
            if delay == 0.0 or self.stopping:
                return
            with anyio.move_on_after(delay):
                await slot.changed.wait()

    async def _acquire(self, slot: Slot) -> Worker:
        agent_id = slot.spec.agent_id
        while self._slots.get(agent_id) is slot and not self.stopping:
            worker = slot.worker
            if worker is not None and not worker.asked and not worker.exited.is_set():
                return worker
            await self._progress(slot)
        raise UnknownAgentError(f"agent {agent_id!r} is gone")

    async def drain(self, seconds: float) -> None:
        """Ask every worker to stop at its next step boundary; wait until they are gone."""
        self.stopping = True
        for slot in self._slots.values():
            if slot.worker is not None:
                slot.worker.drain()
            slot.notify()
        with anyio.move_on_after(seconds):
            for slot in self._slots.values():
                while slot.wanted:
                    await slot.changed.wait()
        for slot in self._slots.values():
            if slot.worker is not None:
                slot.worker.stop()

    # --- one slot --------------------------------------------------------------------------

    def _slot(self, agent_id: str) -> Slot:
        try:
            return self._slots[agent_id]
        except KeyError:
            raise UnknownAgentError(f"there is no agent {agent_id!r}") from None

    async def _progress(self, slot: Slot) -> None:
        """Start the slot's worker, or wait until something about it changes."""
        if not slot.serving:
            delay = restarts.wait(slot.history, self._clock())
            quarantined = slot.history.state is WorkerState.QUARANTINED and delay
            if delay is None or quarantined:
                raise QuarantinedError(
                    f"agent {slot.spec.agent_id!r} is {slot.history.state}: {slot.history.reason}",
                    final=delay is None,
                )
            slot.serving = True
            self._tasks.start_soon(self._live, slot, delay)
        await slot.changed.wait()

    async def _live(self, slot: Slot, delay: float) -> None:
        """One incarnation of the slot's worker, from its start to its end."""
        await anyio.sleep(delay)
        slot.history = restarts.starting(slot.history, self._clock())
        asked, kind, reason = False, ExitKind.CRASH, ""
        try:
            async with started(slot.spec) as worker:
                slot.worker = worker
                slot.history = restarts.ready(slot.history)
                log.info("worker_ready", agent_id=slot.spec.agent_id, pid=worker.pid)
                slot.notify()
                await self._tend(slot, worker)
                slot.history = restarts.stopping(slot.history)
                asked = worker.asked
            kind = restarts.classify(worker.code, asked=asked, hung=worker.hung, oom=False)
            reason = f"exit {worker.code}"
        except OrchestratorError as error:
            reason = str(error)
            code = error.code if isinstance(error, WorkerError) and error.code is not None else 1
            kind = restarts.classify(code, asked=False, hung=False, oom=False)
        finally:
            slot.worker = None
            slot.history = restarts.ended(slot.history, kind, reason, self._clock(), self._jitter())
            slot.serving = False
            log.info("worker_ended", agent_id=slot.spec.agent_id, kind=kind, reason=reason)
            slot.notify()

    async def _tend(self, slot: Slot, worker: Worker) -> None:
        """Watch a running worker until it ends, is asked to, hangs or has been idle too long."""
        beats = [self._clock()]
        worker.on_beat = lambda: beats.__setitem__(0, self._clock())
        while not worker.exited.is_set() and not worker.peer.closed.is_set():
            idle = not slot.wanted and not worker.turns
            if idle and (worker.asked or self._clock() - slot.idle_since >= slot.idle_seconds):
                worker.stop()
                return
            if self._clock() - beats[0] > HEARTBEAT * HEARTBEATS_MISSED:
                worker.abort(f"no heartbeat for {HEARTBEAT * HEARTBEATS_MISSED:.0f} s")
                with anyio.move_on_after(ABORT_TIMEOUT):
                    await worker.exited.wait()
                return
            with anyio.move_on_after(HEARTBEAT):
                await _either(slot.changed, worker.exited, worker.peer.closed)


async def _either(*events: anyio.Event) -> None:
    async def wait(event: anyio.Event) -> None:
        await event.wait()
        tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        for event in events:
            tasks.start_soon(wait, event)
