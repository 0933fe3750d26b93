"""What the daemon does for its operator: show its state, and apply a changed configuration."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import anyio
import structlog

from orchestrator.channel_api import Adapter
from orchestrator.configuration import Configuration
from orchestrator.control import status
from orchestrator.control.protocol import HealthReport, ReloadReport, StatusReport
from orchestrator.inbound.scheduler import Scheduler
from orchestrator.journal.db.store import Store
from orchestrator.maintenance.downtime import DowntimeMonitor
from orchestrator.processes.supervisor import Supervisor
from orchestrator.settings import Settings
from orchestrator.spending.spending_guard import SpendingGuard
from orchestrator.system.sdnotify import Notifier
from orchestrator.tools.mcp.servers import McpServers
from orchestrator.turns.dispatcher import Dispatcher

log = structlog.get_logger()


@dataclass(frozen=True, kw_only=True)
class DaemonOperations:
    """What the operator asks of the daemon as a whole.

    ``session_grew`` wakes the maintenance, whose settings may have changed. ``clock`` returns
    milliseconds since the epoch.
    """

    store: Store
    settings: Settings
    configuration: Configuration
    supervisor: Supervisor
    servers: McpServers
    adapters: Mapping[str, Adapter]
    dispatcher: Dispatcher
    scheduler: Scheduler
    guard: SpendingGuard
    downtime: DowntimeMonitor
    notifier: Notifier
    session_grew: Callable[[], None]
    clock: Callable[[], int]
    _reloading: anyio.Lock = field(default_factory=anyio.Lock, init=False)

    async def status(self) -> StatusReport:
        report = await status.report(
            self.store,
            self.settings,
            self.configuration,
            self.supervisor,
            self.servers,
            self.adapters.values(),
            await self.health(),
        )
        hints = (*report.hints, *self.scheduler.problems, *self.downtime.hints)
        return report.model_copy(update={"hints": hints})

    async def health(self) -> HealthReport:
        return await status.health(
            self.store,
            self.adapters.values(),
            self.clock() / 1000,
            admitting=self.dispatcher.admitting,
            scheduler=self.scheduler.problem(),
        )

    async def reload(self) -> ReloadReport:
        """Read agents.json again and apply it; a file with errors changes nothing."""
        async with self._reloading:
            self.notifier.tell("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")
            applied = self.configuration.read()
            if applied:
                await self.configuration.apply(self.supervisor, self.servers)
                log.info("config_applied", agents=sorted(self.supervisor.slots()))
                self.dispatcher.wake()
                self.scheduler.skills_changed()
                self.guard.configured()
                self.session_grew()
            self.notifier.tell("READY=1")
            problems = status.problems(self.configuration.problems)
            return ReloadReport(applied=applied, problems=problems)

    async def reload_quietly(self) -> None:
        await self.reload()
