"""Remove old data once a day, in small transactions that let others in between."""

from collections.abc import Callable
from dataclasses import dataclass

import anyio
import structlog

from orchestrator.agentsfile import AgentsFile
from orchestrator.errors import JournalError
from orchestrator.journal.access import pairing
from orchestrator.journal.db.store import Store, report_failure
from orchestrator.journal.upkeep import retention

DAY = 86_400.0  # seconds
FIRST = 60.0  # seconds between the daemon's start and the first sweep
BREATH = 0.05  # seconds between two transactions
USAGE_DAYS = 400  # days that usage is kept: enough for monthly budgets and a year's report
log = structlog.get_logger()


@dataclass(eq=False)
class RetentionJob:
    """Removes once a day what is older than ``retention`` in agents.json allows."""

    store: Store
    agents: Callable[[], AgentsFile]
    clock: Callable[[], int]
    first: float = FIRST

    async def run(self) -> None:
        await anyio.sleep(self.first)
        while True:
            try:
                await self.sweep()
            except JournalError as error:
                report_failure(error)
            await anyio.sleep(DAY)

    async def sweep(self) -> None:
        days = self.agents().retention
        removed = {
            "turns": await self._remove(retention.turns, days.turn_days),
            "updates": await self._remove(retention.loose, days.turn_days),
            "messages": await self._remove(retention.messages, days.conversation_days),
            "pictures": await self._remove(retention.pictures, days.picture_days),
            "codes": await self._remove(pairing.expire, 0),
            "conversations": await self._remove(retention.conversations, days.conversation_days),
            "logins": await self._remove(retention.logins, 0),
            "calls": await self._remove(retention.calls, USAGE_DAYS),
        }
        log.debug("retention", **removed)

    async def _remove(self, remove: retention.Remove, days: int) -> int:
        before = self.clock() - round(days * DAY * 1000)
        total = 0
        while count := await self.store.transact(remove, before):
            total += count
            await anyio.sleep(BREATH)
        return total
