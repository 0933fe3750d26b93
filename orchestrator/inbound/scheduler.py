"""The scheduler: store each scheduled task in the inbox when it is due.

It wakes when the next task is due, when a task was added or has ended, and every 30 seconds, so
that it notices a machine that slept or a clock that was set. The dispatcher runs the tasks;
`orchestrator.schedules.misfires` decides about missed instants.
"""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import anyio
import structlog

from orchestrator.agentsfile import AgentsFile
from orchestrator.errors import JournalError
from orchestrator.files import OffLoop, off_loop
from orchestrator.inbound.skill_tasks import SkillSet, SkillTasks
from orchestrator.journal.db.store import STORAGE_RETRY, Store, report_failure
from orchestrator.journal.schedule import task_runs, tasks
from orchestrator.loop_owned import LoopOwned
from orchestrator.schedules.times import ScheduleError
from orchestrator.settings import Settings
from orchestrator.timezones import host_timezone
from orchestrator.wakeup import Wakeup

PERIOD = 30.0  # longest time between two ticks, in seconds
SET_BACK = 1000  # milliseconds; smallest step back of the clock that is acted on
log = structlog.get_logger()


@dataclass(eq=False)
class Scheduler(LoopOwned):
    """Fires due tasks. ``on_change`` is called when the inbox or the outbox may have changed.

    ``clock`` returns milliseconds since the epoch, ``monotonic`` seconds of a clock that cannot be
    set.
    """

    store: Store
    agents: Callable[[], AgentsFile]
    settings: Settings
    environ: Mapping[str, str]
    on_change: Callable[[], None]
    clock: Callable[[], int]
    monotonic: Callable[[], float] = time.monotonic
    off_loop: OffLoop = off_loop
    _wakeup: Wakeup = field(default_factory=Wakeup, init=False)
    _skills_changed: bool = field(default=True, init=False)
    _drift: float = field(default=-math.inf, init=False)

    def __post_init__(self) -> None:
        self._ticked = self.monotonic()

    def wake(self) -> None:
        """Look for due tasks again: a task was added, changed or has ended."""
        self._wakeup.wake()

    def skills_changed(self) -> None:
        """Read the tasks of skills again: a SKILL.md or the configuration has changed."""
        self._skills_changed = True
        self.wake()

    def problem(self) -> str | None:
        """Return why the scheduler is not ready: its last tick is two periods ago; else None."""
        age = self.monotonic() - self._ticked
        return None if age < 2 * PERIOD else f"the scheduler has been stuck for {age:.0f} seconds"

    async def run(self) -> None:
        """Fire due tasks until canceled."""
        while True:
            changed = self._wakeup.changed
            delay = STORAGE_RETRY
            try:
                delay = await self._tick()
                self._ticked = self.monotonic()
            except JournalError as error:
                report_failure(error)
            except Exception:  # a fault here must not end the daemon; readiness reports it
                log.exception("scheduler_failed")
            with anyio.move_on_after(delay):
                await changed.wait()

    async def _tick(self) -> float:
        """Fire what is due now; return the seconds until the next tick."""
        now = self.clock()
        drift = now - self.monotonic() * 1000
        if drift < self._drift - SET_BACK or math.isinf(self._drift):
            await self.store.transact(task_runs.realign, now)
        self._drift = drift
        if self._skills_changed:
            self._skills_changed = False
            try:
                await self._sync(now)
            except JournalError:
                self._skills_changed = True
                raise
        changed = await self.store.transact(task_runs.settle, now)
        for task_id in await self.store.transact(task_runs.due, now):
            changed |= await self._fire(task_id, now)
        if changed:
            self.on_change()
        upcoming = await self.store.transact(task_runs.next_due)
        if upcoming is None:
            return PERIOD
        return min(PERIOD, max(0.0, (upcoming - self.clock()) / 1000))

    async def _fire(self, task_id: int, now: int) -> bool:
        try:
            return await self.store.transact(task_runs.fire, task_id, now)
        except ScheduleError as error:  # perhaps this machine lost the task's time zone
            log.error("task_disabled", task=task_id, problem=str(error))
            await self.store.transact(tasks.end, task_id, "disabled", str(error))
            return False

    # --- tasks of skills -----------------------------------------------------------------------

    async def _sync(self, now: int) -> None:
        """Store every agent's tasks as its skill files define them."""
        file = self.agents()
        try:
            skills = await self.off_loop(SkillSet.read, self.settings, file)
        except TimeoutError as error:
            log.warning("skills_not_read", problem=str(error))
            return
        zone, fast = host_timezone(self.environ), self.settings.fast_tasks
        planned = SkillTasks(file, now, zone, fast=fast)
        planned.plan(skills)
        await self.store.transact(tasks.sync, planned.by_agent, now)
