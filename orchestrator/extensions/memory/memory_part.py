"""The work on memory in a daemon, which stops with the daemon."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial

import anyio
from pydantic import JsonValue

from orchestrator.agentsfile import AgentsFile
from orchestrator.control.protocol import Ack
from orchestrator.extension import Part
from orchestrator.extensions.memory import memories
from orchestrator.extensions.memory.fact_purge import purge_forgotten_facts
from orchestrator.extensions.memory.learned_notices import LearnedNotices
from orchestrator.extensions.memory.maintenance_worker import MaintenanceWorker
from orchestrator.extensions.memory.memories import (
    FactEdit,
    FactPage,
    FactQuery,
    ProfileEdit,
    ProfilePage,
)
from orchestrator.extensions.memory.message_indexer import MessageIndexer
from orchestrator.placement import run_on_one_node
from thinker.protocol.peer import Peer, RequestHandler

FACT_LIST = "memory/list"  # FactQuery → FactPage
FACT_EDIT = "memory/edit"  # FactEdit → Ack
FACT_UNDO = "memory/undo"  # RowId → Ack
FACT_FORGET = "memory/forget"  # RowId → Ack
PROFILE_LIST = "profile/list"  # FactQuery → ProfilePage
PROFILE_SET = "profile/set"  # ProfileEdit → Ack


class MemoryPart(Part):
    """Runs the jobs that call a model, which end as soon as the daemon stops."""

    _maintenance: MaintenanceWorker
    _notices: LearnedNotices
    _indexer: MessageIndexer

    async def open(self) -> None:
        daemon = self.daemon
        self._notices = LearnedNotices(
            daemon.store, daemon.get_own_agents_file, daemon.machine.clock, daemon.control.wake
        )
        self._maintenance = MaintenanceWorker(
            daemon.calls,
            daemon.turns.inputs.embeddings,
            daemon.get_own_agents_file,
            daemon.machine.clock,
            learned=self._notices.wake,
        )
        self._indexer = MessageIndexer(daemon.store)

    async def run(self) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._maintenance.run)
            tasks.start_soon(self._notices.run)
            purge = partial(purge_forgotten_facts, self.daemon.store, self.daemon.machine.clock)
            for name, job in (("purge", purge), ("message index", self._indexer.run)):
                tasks.start_soon(run_on_one_node, self.daemon.placement, name, job)
            await self.daemon.stopping.wait()
            self._maintenance.close()
            tasks.cancel_scope.cancel()

    def adopt_configuration(self, old: AgentsFile, new: AgentsFile) -> None:
        if old.retention is not new.retention:  # an edit of a prompt keeps other objects
            self._maintenance.vectors.forget_failures()
            self._maintenance.wake()

    def list_reply_listeners(self) -> Iterable[Callable[[str], None]]:
        return self._maintenance.wake, self._notices.wake, self._indexer.count_reply

    def list_hints(self) -> Iterable[str]:
        agents = self.daemon.get_agents_file().agents
        names = {agent.agent_id for agent in agents if agent.embeddings is not None}
        for name, problem in self.daemon.turns.inputs.embeddings.problems.items():
            if name in names:
                yield f"embeddings of agent {name}: {problem}; memories are found by words alone"
        for name, coverage in self._maintenance.vectors.coverage.items():
            if name in names and not coverage.is_complete:
                yield f"memory: {coverage} of agent {name}"

    def list_control_methods(self, peer: Peer | None) -> Mapping[str, RequestHandler]:
        del peer
        change = self.daemon.control.change_row
        return {
            FACT_LIST: self._list_facts,
            FACT_EDIT: self._edit_fact,
            FACT_UNDO: partial(change, memories.undo_change),
            FACT_FORGET: partial(change, memories.forget_fact),
            PROFILE_LIST: self._list_profile,
            PROFILE_SET: self._edit_profile,
        }

    async def _list_facts(self, params: JsonValue) -> FactPage:
        query = FactQuery.model_validate(params)
        now = self.daemon.machine.clock()
        return await self.daemon.store.read(memories.load_fact_page, query, now)

    async def _list_profile(self, params: JsonValue) -> ProfilePage:
        query = FactQuery.model_validate(params)
        return await self.daemon.store.read(memories.load_profile_page, query)

    async def _edit_profile(self, params: JsonValue) -> Ack:
        edit = ProfileEdit.model_validate(params)
        return await self.daemon.control.change_journal(memories.edit_profile, edit)

    async def _edit_fact(self, params: JsonValue) -> Ack:
        edit = FactEdit.model_validate(params)
        return await self.daemon.control.change_journal(memories.edit_fact, edit)
