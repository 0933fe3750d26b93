"""Model calls outside of turns: reserve tokens, call the agent's worker, count what it used."""

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
    """One such call.

    ``name`` identifies it in the usage table and ``tokens`` is the most that it may take.
    ``agent_id`` is the agent charged for it; ``worker`` is the agent whose process makes the call
    (for a subagent's work these differ). ``foreseen`` is what another model than the agent's own is
    expected to use.
    """

    name: str
    agent_id: str
    worker: str
    tokens: int
    foreseen: MeteredResult | None = None


@dataclass(frozen=True)
class MeteredCalls:
    """Makes such calls, within the limits of the agents."""

    store: Store
    supervisor: Supervisor
    gate: SpendingGuard

    async def ask(
        self, call: MeteredCall, method: str, request: Frozen, expected: type[Answer]
    ) -> Answer | None:
        """Return the worker's answer; None if the agent is paused or its budget is used up.

        The caller settles the usage in the transaction that stores the result.

        Raises:
            OrchestratorError: the worker failed.
        """
        reserve = self.gate.rules().reserve_work
        asked = call.agent_id, call.name, call.tokens, call.foreseen
        if not await self.store.transact(reserve, *asked):
            return None
        try:
            async with self.supervisor.using(call.worker) as worker:
                return await worker.ask(method, request, expected, call.name)
        except OrchestratorError as error:
            lost = isinstance(error, WorkerLostError)
            await self.store.transact(usage.lose if lost else usage.release, call.name)
            raise
