"""Store each scheduled task in the inbox when it is due.

It wakes when the next task is due, when a task was added or has ended, and every 30 seconds, so
that it notices a machine that slept or a clock that was set. The dispatcher runs the tasks;
`misfires` decides about missed instants.

Where: does a due task become a message?
"""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import anyio
import structlog

from orchestrator.agentsfile import AgentsFile
from orchestrator.errors import JournalError
from orchestrator.extensions.schedules import task_firing
from orchestrator.extensions.schedules.skill_tasks import SkillTasks
from orchestrator.files import OffLoop, run_off_loop
from orchestrator.journal.db.store import STORAGE_RETRY, Store, report_failure
from orchestrator.journal.schedule import tasks
from orchestrator.loop_bound import LoopBound
from orchestrator.placement import Placement, Share, SingleNode
from orchestrator.prompts.skill_set import SkillSet
from orchestrator.schedules.times import ScheduleError
from orchestrator.settings import Settings
from orchestrator.timezones import find_host_timezone
from orchestrator.wakeup import Wakeup

PERIOD = 30.0  # longest time between two ticks, in seconds
SET_BACK = 1000  # milliseconds; smallest step back of the clock that is acted on
log = structlog.get_logger()


@dataclass(eq=False)
class Scheduler(LoopBound):
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
    off_loop: OffLoop = run_off_loop
    placement: Placement = field(default_factory=SingleNode)
    _wakeup: Wakeup = field(default_factory=Wakeup, init=False)
    _skills_changed: bool = field(default=True, init=False)
    _drift: float = field(default=-math.inf, init=False)
    _share: Share | None = field(default=None, init=False)  # at the last tick

    def __post_init__(self) -> None:
        self._ticked = self.monotonic()

    def wake(self) -> None:
        """Look for due tasks again: one was added, changed or ended."""
        self._wakeup.wake()

    def reread_skills(self) -> None:
        """Read the tasks of skills again: a SKILL.md or the configuration has changed."""
        self._skills_changed = True
        self.wake()

    def find_problem(self) -> str | None:
        """Return the reason why the scheduler is not ready, such as a late tick, or None."""
        age = self.monotonic() - self._ticked
        return None if age < 2 * PERIOD else f"the scheduler has been stuck for {age:.0f} seconds"

    async def run(self) -> None:
        """Fire due tasks until cancelled."""
        while True:
            changed = self._wakeup.changed
            delay = STORAGE_RETRY
            try:
                delay = await self._fire_due_tasks()
                self._ticked = self.monotonic()
            except JournalError as error:
                report_failure(error)
            except Exception:  # a fault here must not end the daemon; readiness reports it
                log.exception("scheduler_failed")
            with anyio.move_on_after(delay):
                await changed.wait()

    async def _fire_due_tasks(self) -> float:
        """Fire the due tasks; return the seconds until the next tick."""
        now = self.clock()
        drift = now - self.monotonic() * 1000
        share = self.placement.share
        moved = share is not self._share
        if moved or drift < self._drift - SET_BACK or math.isinf(self._drift):
            await self.store.transact(task_firing.realign_tasks, now, share)
        self._skills_changed |= moved
        self._share, self._drift = share, drift
        if self._skills_changed:
            self._skills_changed = False
            try:
                await self._sync_skill_tasks(now)
            except JournalError:
                self._skills_changed = True
                raise
        changed = await self.store.transact(task_firing.settle_ended_runs, now, share)
        for task_id in await self.store.transact(task_firing.list_due_tasks, now, share):
            changed |= await self._fire_task(task_id, now, share)
        if changed:
            self.on_change()
        upcoming = await self.store.transact(task_firing.find_next_due_time, share)
        if upcoming is None:
            return PERIOD
        return min(PERIOD, max(0.0, (upcoming - self.clock()) / 1000))

    async def _fire_task(self, task_id: int, now: int, share: Share | None) -> bool:
        try:
            return await self.store.transact(task_firing.fire_task, task_id, now, share)
        except ScheduleError as error:  # this machine may have lost the task's time zone
            log.error("task_disabled", task=task_id, problem=str(error))
            await self.store.transact(tasks.end_task, task_id, "disabled", str(error))
            return False

    # --- tasks of skills -----------------------------------------------------------------------

    async def _sync_skill_tasks(self, now: int) -> None:
        """Store every agent's tasks as its skill files define them."""
        file = self.agents()
        try:
            skills = await self.off_loop(SkillSet.read_skills, self.settings, file)
        except TimeoutError as error:
            log.warning("skills_not_read", problem=str(error))
            return
        zone, fast = find_host_timezone(self.environ), self.settings.fast_tasks
        planned = SkillTasks(file, now, zone, fast=fast)
        planned.plan_tasks(skills)
        own = {
            agent_id: plans
            for agent_id, plans in planned.by_agent.items()
            if self._share is None or agent_id in self._share
        }
        await self.store.transact(tasks.sync_skill_tasks, own, now)
