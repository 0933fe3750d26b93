"""The operator's requests to the daemon: show its state, apply a changed configuration.

Where: does the daemon answer status and reload?
"""

import heapq
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain

import anyio
import structlog

from orchestrator.agentsfile import AgentsFile, diff_agents
from orchestrator.channel_api import Adapter
from orchestrator.configuration import Configuration
from orchestrator.control.protocol import ReloadReport
from orchestrator.journal.db.store import Store
from orchestrator.outbound.flood_control import FloodControl
from orchestrator.processes.child_process import ChildProcess
from orchestrator.processes.supervisor import Supervisor
from orchestrator.settings import Settings
from orchestrator.spending.spending_guard import SpendingGuard
from orchestrator.system.sdnotify import Notifier
from orchestrator.tools.remote_tools import RemoteTools
from orchestrator.turns.dispatcher import Dispatcher

MAX_NAMED = 5  # agents in a line of the log
log = structlog.get_logger()


@dataclass(frozen=True, kw_only=True)
class DaemonOperations:
    """Operations on the daemon as a whole.

    ``clock`` returns milliseconds since the epoch, ``others`` the children besides workers, such as
    the page, ``faults`` why parts do not work, and ``notes`` the hints of parts. After a change,
    ``configured`` is called with the previous and the current agents.json.
    """

    store: Store
    settings: Settings
    configuration: Configuration
    supervisor: Supervisor
    servers: RemoteTools
    adapters: Mapping[str, Adapter]
    dispatcher: Dispatcher
    guard: SpendingGuard
    flood: FloodControl
    notifier: Notifier
    others: Callable[[], Mapping[str, ChildProcess | None]]
    faults: Callable[[], Iterable[str]]
    notes: Callable[[], Iterable[str]]
    configured: Callable[[AgentsFile, AgentsFile], Awaitable[None]]
    clock: Callable[[], int]
    _reloading: anyio.Lock = field(default_factory=anyio.Lock, init=False)

    async def apply_edit(self) -> None:
        """Apply an edit of a file; an edit of one prompt affects only its agent."""
        async with self._reloading:
            before = self.configuration.file
            edit = await self.configuration.read_prompt_edit()
            if edit is not None:
                self.supervisor.replace_prompt(edit.agent_id, edit.prompt)
                self._log_applied(before)
                await self.configured(before, self.configuration.file)
                return
        await self.reload_configuration()

    def _log_applied(self, before: AgentsFile) -> None:
        """Log how many agents there are now, and what changed: numbers, and a few names."""
        file = self.configuration.file
        diff = diff_agents(before, file)
        kinds = {"added": diff.added, "removed": diff.removed, "changed": diff.changed}
        counts = {kind: len(names) for kind, names in kinds.items() if names}
        names = heapq.nsmallest(MAX_NAMED, chain(*kinds.values()))
        log.info("config_applied", agents=len(file.list_enabled_ids()), **counts, names=names)

    async def reload_configuration(self) -> ReloadReport:
        """Reload agents.json and apply it; a file with errors changes nothing."""
        async with self._reloading:
            self.notifier.send_state("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")
            before = self.configuration.file
            applied = await self.configuration.reread_files()
            if applied:
                await self.configuration.apply_to_processes(self.supervisor, self.servers)
                self._log_applied(before)
                self.dispatcher.wake()
                self.guard.retry_refused_keys()
                await self.configured(before, self.configuration.file)
            self.notifier.send_state("READY=1")
            problems = self.configuration.problems
            return ReloadReport(applied=applied, problems=problems)
