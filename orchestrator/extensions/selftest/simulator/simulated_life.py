"""One life of the simulated daemon: what happens in it, and how it ends."""

import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import anyio
from anyio.abc import TaskGroup

from orchestrator.daemon.life import Daemon
from orchestrator.errors import JournalError
from orchestrator.extensions.selftest.crash.world import TOKEN
from orchestrator.extensions.selftest.simulator.history_plan import PlannedEvent
from orchestrator.extensions.selftest.simulator.lossy_disk import LossyDisk
from orchestrator.extensions.selftest.simulator.simulated_home import SimulatedHome
from orchestrator.extensions.selftest.simulator.simulated_machine import Killed, SimulatedMachine
from orchestrator.extensions.selftest.simulator.simulated_world import SimulatedWorld
from orchestrator.extensions.selftest.simulator.virtual_loop import VirtualLoop
from orchestrator.journal.access import pairing
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store
from orchestrator.journal.db.writer import StorageFailedError
from orchestrator.settings import Settings

PERIOD = 2.0  # seconds between two checks whether all work is done
MAX_HISTORY_SECONDS = 7200.0  # from the beginning of the history
End: TypeAlias = Literal["running", "stop", "kill", "power", "disk", "settled", "late"]
UNSETTLED = (
    "SELECT EXISTS(SELECT 1 FROM inbox WHERE state NOT IN('done','dead','cancelled'))"
    " OR EXISTS(SELECT 1 FROM turn WHERE state IN('running','replied'))"
    " OR EXISTS(SELECT 1 FROM outbox WHERE state IN('queued','ph_sending','ph_sent','sending'))"
    " OR EXISTS(SELECT 1 FROM pairing WHERE state = 'pending')"
    " OR EXISTS(SELECT 1 FROM task WHERE state = 'active')"
    " OR EXISTS(SELECT 1 FROM task_run WHERE state = 'due')"
)


@dataclass
class SimulatedLife:
    """One life. ``left`` are the remaining events of the history, in order.

    ``end`` is how it ended: ``settled`` when all work was done, ``late`` when it was not in time.
    ``boots`` counts the commits of T0, ``worker_deaths`` the workers that were killed.
    """

    settings: Settings
    loop: VirtualLoop
    world: SimulatedWorld
    files: SimulatedHome
    machine: SimulatedMachine
    disk: LossyDisk
    left: list[PlannedEvent]
    end: End = "running"
    armed: bool = True  # whether failpoints are in effect
    boots: int = 0
    worker_deaths: int = 0
    passed: list[str] = field(default_factory=list)  # failpoints
    _pending: dict[PlannedEvent, int] = field(default_factory=dict)  # failpoints until each kill

    async def run_daemon(self, store: Store) -> None:
        """Run the daemon until it is stopped; a kill ends the loop instead."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._play_events, tasks)
            tasks.start_soon(self._stop_when_settled, store)
            tasks.start_soon(self.world.platform.deliver_late_edits)
            daemon = Daemon(
                self.settings, {"TZ": "UTC", "TELEGRAM_BOT_TOKEN": TOKEN}, store, self.machine
            )
            tasks.start_soon(self._admit_strangers, store, daemon)
            try:
                await daemon.run()
            except (ExceptionGroup, JournalError, StorageFailedError):
                if not (self.disk.full or self.disk.broken):
                    raise
                self.end = "disk"
            tasks.cancel_scope.cancel()

    async def _stop_when_settled(self, store: Store) -> None:
        """Stop the daemon once all work is done, or when time is up."""
        while True:
            await anyio.sleep(PERIOD)
            unsettled = await store.read(_has_unsettled_rows)
            waits = self.left or self.world.bot.unconfirmed_updates or unsettled
            if waits and self.loop.time() < MAX_HISTORY_SECONDS:
                continue
            self.end = "late" if waits else "settled"
            self.machine.stop_daemon()
            return

    async def _admit_strangers(self, store: Store, daemon: Daemon) -> None:
        """Approve every chat that has a code, as an operator does who looks at the list."""
        while True:
            await anyio.sleep(PERIOD)
            for asked in await store.read(pairing.list_pairings):
                if asked.code is not None and daemon.control is not None:
                    # The disk is full, and the next check tries again; or the disk is broken.
                    with suppress(JournalError, StorageFailedError):
                        await daemon.control.approve_chat(asked.code)

    async def _play_events(self, tasks: TaskGroup) -> None:
        """Play the remaining events."""
        happenings: Mapping[str, Callable[[PlannedEvent], None]] = {
            "say": lambda event: self.world.send_script(event.name),
            "reword": lambda event: self.world.edit_message(event.name),
            "repeat": lambda event: self.world.repeat_update(event.name),
            "murmur": lambda event: self.world.murmur(event.name),
            "edit": self._edit_file,
            "stop": self._stop_daemon,
            "tools": self._kill_tool_hosts,
            "slow_tools": self._slow_tools,
            "clock": self._set_clock,
            "broken_disk": self._break_disk,
        }
        lasting = {"platform": self._disturb_platform, "disk": self._fill_disk}
        while self.left:
            await anyio.sleep(max(0.0, self.left[0].at - self.loop.time()))
            event = self.left.pop(0)
            if event.kind in happenings:
                happenings[event.kind](event)
            elif event.kind in lasting:
                tasks.start_soon(lasting[event.kind], event)
            else:
                self._pending[event] = event.number

    def _stop_daemon(self, _: PlannedEvent) -> None:
        self.end = "stop"
        self.machine.stop_daemon()

    def _edit_file(self, event: PlannedEvent) -> None:
        self.files.edit_file(event.name)
        self.machine.edits.wake()

    def _kill_tool_hosts(self, _: PlannedEvent) -> None:
        for process in (*self.machine.tool_hosts, *self.machine.brokers):
            process.signal(signal.SIGKILL)

    def _slow_tools(self, event: PlannedEvent) -> None:
        self.world.server_start = event.seconds

    def _set_clock(self, event: PlannedEvent) -> None:
        self.world.drift += event.seconds

    def _break_disk(self, _: PlannedEvent) -> None:
        self.disk.broken = True

    async def _disturb_platform(self, event: PlannedEvent) -> None:
        with self.world.platform.apply_outage(event):
            await anyio.sleep(event.seconds)

    async def _fill_disk(self, event: PlannedEvent) -> None:
        self.disk.full = True
        await anyio.sleep(event.seconds)
        self.disk.full = False

    def watch(self, victim: str, pids: Callable[[], list[int]]) -> None:
        """Ignore process ids: the machine has its own."""

    def reach(self, name: str) -> None:
        """Pass a failpoint: the daemon or a worker may be killed here.

        Raises:
            Killed: the daemon was killed within a transaction, which must not go on.
        """
        if self.loop.killed:
            return
        self.passed.append(name)
        self.boots += name == "boot:after"
        self._pending = {event: left - 1 for event, left in self._pending.items()}
        for event in [event for event, left in self._pending.items() if left <= 0]:
            del self._pending[event]
            self._kill_victim(event)

    def _kill_victim(self, event: PlannedEvent) -> None:
        if event.kind in ("kill", "power"):
            self.end = "kill" if event.kind == "kill" else "power"
            self.loop.kill()
            if self.loop.committing:
                raise Killed
        elif self.machine.workers:
            self.worker_deaths += 1
            worker = self.machine.workers[-1]
            if event.kind == "hang":
                worker.silent = True
            else:
                worker.signal(signal.SIGKILL)


def _has_unsettled_rows(db: Database) -> bool:
    """Return whether any work is unfinished; see `JournalRows.describe_unsettled`."""
    return bool(db.execute(UNSETTLED).get)
