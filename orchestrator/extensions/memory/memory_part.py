"""The work on memory in a daemon, which stops with the daemon."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial

import anyio

from orchestrator.agentsfile import AgentsFile
from orchestrator.extension import Part
from orchestrator.extensions.memory import memories
from orchestrator.extensions.memory.fact_purge import purge_forgotten_facts
from orchestrator.extensions.memory.maintenance_worker import MaintenanceWorker
from thinker.protocol.peer import Peer, RequestHandler

FACT_FORGET = "memory/forget"  # RowId → Ack


class MemoryPart(Part):
    """Runs the jobs that call a model, which end as soon as the daemon stops."""

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
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._maintenance.run)
            tasks.start_soon(purge_forgotten_facts, self.daemon.store, self.daemon.machine.clock)
            await self.daemon.stopping.wait()
            self._maintenance.close()
            tasks.cancel_scope.cancel()

    def adopt_configuration(self, old: AgentsFile, new: AgentsFile) -> None:
        if old.retention is not new.retention:  # an edit of a prompt keeps other objects
            self._maintenance.wake()

    def list_reply_listeners(self) -> Iterable[Callable[[str], None]]:
        return (self._maintenance.wake,)

    def list_control_methods(self, peer: Peer | None) -> Mapping[str, RequestHandler]:
        del peer
        return {FACT_FORGET: partial(self.daemon.control.change_row, memories.forget_fact)}
