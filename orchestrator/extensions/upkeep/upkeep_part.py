"""Background work in a daemon, which stops with the daemon."""

from collections.abc import Callable, Iterable

import anyio

from orchestrator.agentsfile import AgentsFile
from orchestrator.extension import Part
from orchestrator.extensions.upkeep.journal_check import JournalCheck
from orchestrator.extensions.upkeep.maintenance_worker import MaintenanceWorker
from orchestrator.extensions.upkeep.retention_job import RetentionJob


class UpkeepPart(Part):
    """Runs the jobs; jobs that call a model end as soon as the daemon stops."""

    _maintenance: MaintenanceWorker

    async def open(self) -> None:
        daemon = self.daemon
        self._maintenance = MaintenanceWorker(
            daemon.calls,
            daemon.turns.inputs.embeddings,
            daemon.get_agents_file,
            daemon.machine.clock,
        )

    async def run(self) -> None:
        store, machine = self.daemon.store, self.daemon.machine
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._maintenance.run)
            tasks.start_soon(RetentionJob(store, self.daemon.get_agents_file, machine.clock).run)
            tasks.start_soon(JournalCheck(store, in_thread=machine.in_thread).run)
            await self.daemon.stopping.wait()
            self._maintenance.close()

    def adopt_configuration(self, old: AgentsFile, new: AgentsFile) -> None:
        if old.retention is not new.retention:  # an edit of a prompt keeps other objects
            self._maintenance.wake()

    def list_reply_listeners(self) -> Iterable[Callable[[str], None]]:
        return (self._maintenance.wake,)
