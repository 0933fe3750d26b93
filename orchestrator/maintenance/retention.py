"""The daily removal of what is old, in small transactions between which others get their turn."""

from collections.abc import Callable

import anyio
import structlog

from orchestrator.agentsfile import AgentsFile
from orchestrator.errors import JournalError
from orchestrator.journal.db.store import Store, report_failure
from orchestrator.journal.upkeep import retention

DAY = 86_400.0  # seconds
FIRST = 60.0  # seconds after the start, when the daemon has better things to do
BREATH = 0.05  # seconds between two transactions
USAGE_DAYS = 400  # a month's budget, and last year's bill
log = structlog.get_logger()


class RetentionJob:
    """Removes once a day what is older than ``retention`` in agents.json says."""

    def __init__(
        self,
        store: Store,
        agents: Callable[[], AgentsFile],
        clock: Callable[[], int],
        first: float = FIRST,
    ) -> None:
        self._store = store
        self._agents = agents
        self._clock = clock
        self._first = first

    async def run(self) -> None:
        """Until cancelled."""
        await anyio.sleep(self._first)
        while True:
            try:
                await self.sweep()
            except JournalError as error:
                report_failure(error)
            await anyio.sleep(DAY)

    async def sweep(self) -> None:
        """Remove everything that is old now."""
        days = self._agents().retention
        removed = {
            "turns": await self._all(retention.turns, days.turn_days),
            "updates": await self._all(retention.loose, days.turn_days),
            "messages": await self._all(retention.messages, days.conversation_days),
            "pictures": await self._all(retention.pictures, days.picture_days),
            "calls": await self._all(retention.calls, USAGE_DAYS),
        }
        log.info("retention", **removed)

    async def _all(self, remove: retention.Remove, days: int) -> int:
        before = self._clock() - round(days * DAY * 1000)
        total = 0
        while count := await self._store.transact(remove, before):
            total += count
            await anyio.sleep(BREATH)
        return total
