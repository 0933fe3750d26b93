"""Call models outside of turns: reserve tokens, call the agent's worker, count the usage."""

from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from orchestrator.errors import OrchestratorError, WorkerLostError
from orchestrator.journal.db.store import Store
from orchestrator.journal.turns import usage
from orchestrator.processes.supervisor import Supervisor
from orchestrator.spending.spending_guard import SpendingGuard
from thinker.protocol.background import MeteredResult
from thinker.protocol.messages import Frozen

Answer = TypeVar("Answer", bound=MeteredResult)


class MeteredCall(NamedTuple):
    """One model call outside of turns.

    ``name`` identifies it in the usage table and ``tokens`` is the most that it may take.
    ``agent_id`` is the agent charged for it; ``worker`` is the agent whose process makes the call
    (for a subagent's work these differ). ``foreseen`` is the expected use of a model other than
    the agent's own.
    """

    name: str
    agent_id: str
    worker: str
    tokens: int
    foreseen: MeteredResult | None = None


@dataclass(frozen=True)
class MeteredCalls:
    """Makes model calls within the limits of the agents."""

    store: Store
    supervisor: Supervisor
    gate: SpendingGuard

    async def ask_worker(
        self, call: MeteredCall, method: str, request: Frozen, expected: type[Answer]
    ) -> Answer | None:
        """Return the worker's answer; None if the agent is paused or over its budget.

        The caller settles the usage in the transaction that stores the result.

        Raises:
            OrchestratorError: the worker failed.
        """
        reserve = self.gate.build_rules().reserve_work
        asked = call.agent_id, call.name, call.tokens, call.foreseen
        if not await self.store.transact(reserve, *asked):
            return None
        try:
            async with self.supervisor.use_worker(call.worker) as worker:
                return await worker.send_request(method, request, expected, call.name)
        except OrchestratorError as error:
            lost = isinstance(error, WorkerLostError)
            await self.store.transact(
                usage.mark_reservation_lost if lost else usage.release_reservation, call.name
            )
            raise
