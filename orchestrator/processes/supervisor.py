"""Start workers on demand, share them between callers, stop them when idle.

Each agent has a slot with its own history, so a worker that crashes, hangs or leaks does not
affect other agents. `orchestrator.processes.restarts` decides when a worker is started again.

Where: is an idle worker stopped?
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import anyio
import structlog
from anyio import to_thread
from anyio.abc import TaskGroup

from orchestrator.errors import OrchestratorError, QuarantinedError, UnknownAgentError, WorkerError
from orchestrator.files import OffLoop
from orchestrator.loop_bound import LoopBound
from orchestrator.processes import restarts
from orchestrator.processes.child_process import Spawn, execute_program, wait_for_any
from orchestrator.processes.jail_requirement import require_jail
from orchestrator.processes.launch import LaunchSpec, write_prompt
from orchestrator.processes.model_broker import ModelBroker
from orchestrator.processes.restarts import ExitKind, History, WorkerState
from orchestrator.processes.worker import Worker, run_worker
from orchestrator.processes.worker_places import WorkerPlaces
from orchestrator.wakeup import Wakeup
from thinker.protocol.context_windows import ContextWindow

SETTLED = 1.0  # seconds after which a worker that is ready does not count as starting any more
SHORTEST = 0.001  # seconds of a wait: what rounding leaves of one is over before it begins
log = structlog.get_logger()


@dataclass(eq=False)
class Slot(Wakeup):
    """One agent's launch spec, the history of its workers, and its running worker, if any."""

    spec: LaunchSpec
    idle_seconds: float
    history: History = field(default_factory=History)
    worker: Worker | None = None
    window: ContextWindow | None = None  # that its worker found out
    callers: int = 0  # that wait for the worker or use it
    idle_since: float = 0.0
    has_task: bool = False  # `Supervisor._run_slot` runs

    def __post_init__(self) -> None:
        super().__init__()

    def note_window(self, window: ContextWindow) -> None:
        self.window = window


@dataclass
class Supervisor(LoopBound):
    """Runs one worker process per agent. ``tasks`` must outlive it.

    ``slots`` has every agent's slot by agent id. ``used`` is set with the first use of a worker.
    """

    tasks: TaskGroup
    clock: Callable[[], float] = time.monotonic
    jitter: Callable[[], float] = restarts.draw_jitter
    spawn: Spawn = execute_program
    in_thread: OffLoop = to_thread.run_sync
    broker: ModelBroker | None = None  # None: workers call providers directly
    places: WorkerPlaces[Slot] = field(default_factory=WorkerPlaces)
    slots: dict[str, Slot] = field(default_factory=dict, init=False)
    stopping: bool = field(default=False, init=False)
    used: anyio.Event = field(default_factory=anyio.Event, init=False)

    def __post_init__(self) -> None:
        self.places.end = self._end_idle_worker

    def define_agent(
        self, spec: LaunchSpec, idle_minutes: float, *, had_prompt: bool = True
    ) -> None:
        """Add or change an agent; a running worker of the old spec drains and ends.

        ``had_prompt`` tells whether it may have a prompt file, perhaps from before a restart.
        """
        if self.broker is not None:
            needed = spec.rights is not None and spec.rights.are_needed
            self.broker.set_needed(spec.agent_id, needed=needed)
        if spec.prompt is None and had_prompt and os.path.lexists(spec.prompt_path):
            spec.prompt_path.unlink(missing_ok=True)
        slot = self.slots.get(spec.agent_id)
        if slot is None:
            self.slots[spec.agent_id] = Slot(spec, idle_minutes * 60)
            return
        slot.idle_seconds = idle_minutes * 60
        if slot.spec != spec:
            self._replace_spec(slot, spec)

    def replace_prompt(self, agent_id: str, prompt: str) -> None:
        """Give an agent another prompt text; a running worker drains and ends."""
        slot = self.slots.get(agent_id)
        if slot is not None:  # it is enabled
            self._replace_spec(slot, replace(slot.spec, prompt=prompt))

    def _replace_spec(self, slot: Slot, spec: LaunchSpec) -> None:
        slot.spec = spec
        slot.history = restarts.forget_failures(slot.history)
        if slot.worker is not None:
            slot.worker.request_drain()
        slot.wake()

    def remove_agent(self, agent_id: str) -> None:
        """Forget an agent; its worker finishes its turns and ends."""
        slot = self.slots.pop(agent_id, None)
        if self.broker is not None:
            self.broker.set_needed(agent_id, needed=False)
        if slot is not None:
            if slot.worker is not None:
                slot.worker.stop_requested = True
            if slot.spec.prompt is not None:
                slot.spec.prompt_path.unlink(missing_ok=True)
            slot.wake()

    def resume_quarantined(self, agent_id: str) -> None:
        """Give a quarantined agent a fresh start; raise `UnknownAgentError` for an unknown one."""
        slot = self._require_slot(agent_id)
        slot.history = restarts.forget_failures(slot.history)
        slot.wake()

    def list_pids(self) -> list[int]:
        return [slot.worker.pid for slot in list(self.slots.values()) if slot.worker is not None]

    @asynccontextmanager
    async def use_worker(self, agent_id: str) -> AsyncIterator[Worker]:
        """Use the agent's worker, started if needed, and keep it while the block lasts.

        Waits until a back-off is over. Concurrent callers share one start.

        Raises:
            UnknownAgentError: the agent was removed, or the daemon stops.
            QuarantinedError: see `wait_until_available`.
        """
        slot = self._require_slot(agent_id)
        slot.callers += 1
        self.places.note_used(slot)
        self.used.set()
        if self.broker is not None:
            self.broker.warm_connection(agent_id)
        try:
            worker = slot.worker
            if worker is None or self.stopping or not worker.is_usable:
                worker = await self._acquire_worker(slot)
            worker.users += 1
            try:
                yield worker
            finally:
                worker.users -= 1
        finally:
            slot.callers -= 1
            slot.idle_since = self.clock()
            self._note_if_idle(slot)
            if self.stopping or slot.worker is None or slot.worker.stop_requested:
                slot.wake()  # its end waits for its last user

    def _note_if_idle(self, slot: Slot) -> None:
        if slot.worker is not None and not slot.callers:
            self.places.note_started(slot)
            self.places.note_idle(slot)

    def _end_idle_worker(self, slot: Slot) -> None:
        if slot.worker is not None:
            log.debug("idle_worker_ended", agent_id=slot.spec.agent_id)
            slot.worker.stop_requested = True
            slot.wake()

    async def wait_until_available(self, agent_id: str) -> None:
        """Wait until a quarantined agent may be tried; raise `UnknownAgentError` if removed."""
        while True:
            slot = self._require_slot(agent_id)
            delay = restarts.find_start_delay(slot.history, self.clock())
            if delay == 0.0 or self.stopping:
                return
            with anyio.move_on_after(delay):
                await slot.changed.wait()

    async def _acquire_worker(self, slot: Slot) -> Worker:
        while self._is_accepting_turns(slot):
            if slot.worker is not None and slot.worker.is_usable:
                return slot.worker
            await self._start_or_wait(slot)
        raise UnknownAgentError(f"agent {slot.spec.agent_id!r} was removed")

    async def drain_workers(self, seconds: float) -> None:
        """Stop every worker at its next step boundary; wait up to ``seconds`` for their callers."""
        self.stopping = True
        for slot in self.slots.values():
            if slot.worker is not None:
                slot.worker.request_drain()
            slot.wake()
        with anyio.move_on_after(seconds):
            for slot in list(self.slots.values()):
                while slot.callers:
                    await slot.changed.wait()
        for slot in self.slots.values():
            if slot.worker is not None:
                slot.worker.stop()

    def _require_slot(self, agent_id: str) -> Slot:
        try:
            return self.slots[agent_id]
        except KeyError:
            raise UnknownAgentError(f"unknown agent {agent_id!r}") from None

    def _is_accepting_turns(self, slot: Slot) -> bool:
        return self.slots.get(slot.spec.agent_id) is slot and not self.stopping

    async def _start_or_wait(self, slot: Slot) -> None:
        """Start the slot's worker unless a task runs it, and wait for a change."""
        if not slot.has_task:
            delay = restarts.find_start_delay(slot.history, self.clock())
            quarantined = slot.history.state is WorkerState.QUARANTINED and delay
            if delay is None or quarantined:
                raise QuarantinedError(
                    f"agent {slot.spec.agent_id!r} is {slot.history.state}: {slot.history.reason}",
                    final=delay is None,
                )
            slot.has_task = True
            self.tasks.start_soon(self._run_slot, slot)
        await slot.changed.wait()

    async def _run_slot(self, slot: Slot) -> None:
        """Run one worker after the back-off, if it still has callers."""
        structlog.contextvars.clear_contextvars()  # it outlives the turn that started it
        try:
            while self._is_accepting_turns(slot) and slot.callers:
                delay = restarts.find_start_delay(slot.history, self.clock())
                if not delay:
                    queued = slot.spec.parent is None
                    async with self.places.hold_place(slot, queued=queued):
                        if self._is_accepting_turns(slot) and slot.callers:
                            await self._run_worker(slot)
                    return
                with anyio.move_on_after(delay):
                    await slot.changed.wait()
        finally:
            slot.has_task = False
            slot.wake()

    async def _run_worker(self, slot: Slot) -> None:
        """Run a process from start to end, and record its end in the slot's history."""
        spec = slot.spec
        slot.history = restarts.record_start(slot.history, self.clock())
        kind, reason = ExitKind.CLEAN, "the daemon stopped"
        try:
            if spec.prompt is not None:
                await self.in_thread(write_prompt, spec)
                if spec.agent_id not in self.slots or slot.spec.prompt is None:  # gone meanwhile
                    spec.prompt_path.unlink(missing_ok=True)
            async with self._start_worker(spec) as worker:
                require_jail(spec.sandbox, worker.sandbox)
                if slot.spec is not spec or not self._is_accepting_turns(slot):
                    worker.request_drain()  # changed or removed while it started
                slot.worker, worker.tell_window = worker, slot.note_window
                slot.history = restarts.record_ready(slot.history)
                # Until it has answered, or waits for its model, the next ones would slow it down.
                loop = asyncio.get_running_loop()
                loop.call_later(SETTLED, self.places.note_started, slot)
                self._note_if_idle(slot)
                took = round((self.clock() - slot.history.started) * 1000, 1)
                log.debug("worker_ready", agent_id=spec.agent_id, pid=worker.pid, ms=took)
                slot.wake()
                await self._monitor_worker(slot, worker)
                slot.history = restarts.record_stopping(slot.history)
            kind = restarts.classify_exit(
                worker.code, stop_requested=worker.stop_requested, hung=worker.hung, oom=False
            )
            reason = f"exit {worker.code}"
        except (OrchestratorError, OSError) as error:
            reason = str(error)
            code = error.code if isinstance(error, WorkerError) else None
            kind = restarts.classify_exit(code or 1, stop_requested=False, hung=False, oom=False)
        finally:
            slot.worker = None
            after = restarts.record_exit(slot.history, kind, reason, self.clock(), self.jitter())
            slot.history = after if slot.spec is spec else restarts.forget_failures(after)
            log.log(
                kind.log_level, "worker_ended", agent_id=spec.agent_id, kind=kind, reason=reason
            )

    @asynccontextmanager
    async def _start_worker(self, spec: LaunchSpec) -> AsyncIterator[Worker]:
        """Start a worker, with its channel to the broker."""
        if self.broker is None:
            async with run_worker(spec, self.spawn) as worker:
                yield worker
            return
        with self.broker.open_channel(spec.agent_id, spec.grants) as channel:
            async with run_worker(spec, self.spawn, channel) as worker:
                yield worker

    async def _monitor_worker(self, slot: Slot, worker: Worker) -> None:
        """Watch a worker until it ends, has to stop or has been idle too long."""
        while not worker.exited.is_set() and not worker.peer.closed.is_set():
            idle = 0.0 if slot.callers else self.clock() - slot.idle_since
            if idle >= slot.idle_seconds or (worker.stop_requested and not worker.users):
                worker.stop()
                return
            with anyio.move_on_after(max(slot.idle_seconds - idle, SHORTEST)):
                await wait_for_any(slot.changed, worker.exited, worker.peer.closed)
