"""What the daemon does for its operator: tell its state, and take a changed configuration."""

import time
from collections.abc import Mapping

import anyio
import structlog

from orchestrator.channel_api import Adapter
from orchestrator.configuration import Configuration
from orchestrator.control import status
from orchestrator.control.protocol import HealthReport, ReloadReport, StatusReport
from orchestrator.inbound.scheduler import Scheduler
from orchestrator.maintenance.downtime import DowntimeMonitor
from orchestrator.system.sdnotify import Notifier
from orchestrator.tools.mcp.servers import ToolServers
from orchestrator.turns.dispatcher import Dispatcher
from orchestrator.turns.turn_inputs import TurnServices

log = structlog.get_logger()


class DaemonOperations:
    """Looks at the daemon's parts, and hands them a new configuration."""

    def __init__(
        self,
        services: TurnServices,
        configuration: Configuration,
        servers: ToolServers,
        adapters: Mapping[str, Adapter],
        dispatcher: Dispatcher,
        scheduler: Scheduler,
        downtime: DowntimeMonitor,
        notifier: Notifier,
    ) -> None:
        self._with = services
        self._configuration = configuration
        self._servers = servers
        self._adapters = adapters
        self._dispatcher = dispatcher
        self._scheduler = scheduler
        self._downtime = downtime
        self._notifier = notifier
        self._reloading = anyio.Lock()

    async def status(self) -> StatusReport:
        """Everything that `orchestrator status` shows."""
        report = await status.report(
            self._with.store,
            self._with.settings,
            self._configuration,
            self._with.supervisor,
            self._servers,
            self._adapters.values(),
            await self.health(),
        )
        hints = (*report.hints, *self._scheduler.problems, *self._downtime.hints)
        return report.model_copy(update={"hints": hints})

    async def health(self) -> HealthReport:
        """Whether the daemon lives, and whether it is ready."""
        return await status.health(
            self._with.store,
            self._adapters.values(),
            self._with.clock() / 1000,
            admitting=self._dispatcher.admitting,
            scheduler=self._scheduler.problem(),
        )

    async def reload(self) -> ReloadReport:
        """Read agents.json again; a file that cannot be used changes nothing."""
        async with self._reloading:
            self._notifier.tell("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")
            applied = self._configuration.read()
            if applied:
                await self._configuration.apply(self._with.supervisor, self._servers)
                log.info("config_applied", agents=sorted(self._with.supervisor.slots()))
                self._dispatcher.wake()
                self._scheduler.skills_changed()
                self._with.gate.configured()
                self._with.session_grew()
            self._notifier.tell("READY=1")
            problems = status.problems(self._configuration.problems)
            return ReloadReport(applied=applied, problems=problems)

    async def reload_quietly(self) -> None:
        """Reload for nobody who waits for a report: a changed file, a SIGHUP."""
        await self.reload()
