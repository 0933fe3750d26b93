"""Work of an agent's model that belongs to no turn: reserved for, asked of its worker, counted."""

from dataclasses import dataclass
from typing import TypeVar

from orchestrator.errors import OrchestratorError, WorkerLostError
from orchestrator.journal.db.store import Store
from orchestrator.journal.turns import usage
from orchestrator.processes.supervisor import Supervisor
from orchestrator.spending.spending_guard import SpendingGuard
from thinker.protocol.background import MeteredResult
from thinker.protocol.messages import Frozen

Answer = TypeVar("Answer", bound=MeteredResult)


@dataclass(frozen=True)
class MeteredCall:
    """``name`` is that of the work in the usage table, ``tokens`` what it may take.

    ``agent_id`` is who pays for it, ``worker`` whose process does it (a subagent's is its own).
    """

    name: str
    agent_id: str
    worker: str
    tokens: int


@dataclass(frozen=True)
class MeteredCalls:
    """Who does such work, and who allows it."""

    store: Store
    supervisor: Supervisor
    gate: SpendingGuard

    async def ask(
        self, work: MeteredCall, method: str, request: Frozen, expected: type[Answer]
    ) -> Answer | None:
        """What the agent's worker says; None when it may not be asked.

        The caller settles what it took, with what it makes of it.

        Raises:
            OrchestratorError: the worker could not do it.
        """
        reserve = self.gate.reserve_work
        if not await self.store.transact(reserve, work.agent_id, work.name, work.tokens):
            return None
        try:
            async with self.supervisor.using(work.worker) as worker:
                return await worker.ask(method, request, expected)
        except OrchestratorError as error:
            lost = isinstance(error, WorkerLostError)
            await self.store.transact(usage.lose if lost else usage.release, work.name)
            raise
