"""Upkeep of the journal in a daemon."""

import anyio

from orchestrator.extension import Part
from orchestrator.extensions.upkeep.journal_check import JournalCheck
from orchestrator.extensions.upkeep.retention_job import RetentionJob
from orchestrator.placement import run_on_one_node


class UpkeepPart(Part):
    """Removes old records and checks the journal's pages."""

    async def run(self) -> None:
        store, machine = self.daemon.store, self.daemon.machine
        async with anyio.create_task_group() as tasks:
            job = RetentionJob(store, self.daemon.get_agents_file, machine.clock, machine.monotonic)
            tasks.start_soon(run_on_one_node, self.daemon.placement, "retention", job.run)
            tasks.start_soon(JournalCheck(store, in_thread=machine.in_thread).run)
