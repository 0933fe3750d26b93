"""Remove old data once a day, in small transactions with pauses between them."""

from collections.abc import Callable
from dataclasses import dataclass

import anyio
import structlog

from orchestrator.agentsfile import AgentsFile
from orchestrator.errors import JournalError
from orchestrator.extensions.upkeep import retention
from orchestrator.journal.access import pairing
from orchestrator.journal.db.store import Store, report_failure

DAY = 86_400.0  # seconds
FIRST = 60.0  # seconds between the daemon's start and the first sweep
BREATH = 0.05  # seconds between two transactions
USAGE_DAYS = 400  # of usage: enough for monthly budgets and a year's report
TRIAL_DAYS = 30
log = structlog.get_logger()


@dataclass(eq=False)
class RetentionJob:
    """Removes data older than ``retention`` in agents.json allows, once a day."""

    store: Store
    agents: Callable[[], AgentsFile]
    clock: Callable[[], int]
    first: float = FIRST

    async def run(self) -> None:
        await anyio.sleep(self.first)
        while True:
            try:
                await self.remove_old_data()
            except JournalError as error:
                report_failure(error)
            await anyio.sleep(DAY)

    async def remove_old_data(self) -> None:
        days = self.agents().retention
        removed = {
            "turns": await self._remove_in_batches(retention.delete_old_turns, days.turn_days),
            "updates": await self._remove_in_batches(
                retention.delete_loose_messages, days.turn_days
            ),
            "messages": await self._remove_in_batches(
                retention.delete_old_messages, days.conversation_days
            ),
            "pictures": await self._remove_in_batches(
                retention.delete_old_pictures, days.picture_days
            ),
            "trials": await self._remove_in_batches(retention.delete_old_trials, TRIAL_DAYS),
            "codes": await self._remove_in_batches(pairing.delete_expired_codes, 0),
            "conversations": await self._remove_in_batches(
                retention.delete_unused_conversations, days.conversation_days
            ),
            "rules": await self._remove_in_batches(retention.delete_ended_rules, days.turn_days),
            "logins": await self._remove_in_batches(retention.delete_ended_logins, 0),
            "calls": await self._remove_in_batches(retention.delete_old_calls, USAGE_DAYS),
        }
        log.debug("retention", **removed)

    async def _remove_in_batches(self, remove: retention.Remove, days: int) -> int:
        before = self.clock() - round(days * DAY * 1000)
        total = 0
        while count := await self.store.transact(remove, before):
            total += count
            await anyio.sleep(BREATH)
        return total
