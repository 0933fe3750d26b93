"""Remove old data once a day, in small transactions with pauses between them."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import anyio
import structlog

from orchestrator.agentsfile import AgentsFile
from orchestrator.errors import JournalError
from orchestrator.extensions.upkeep import retention
from orchestrator.journal.access import pairing
from orchestrator.journal.db.store import Store, report_failure

DAY = 86_400.0  # seconds
DAY_MS = 86_400_000
FIRST = 60.0  # seconds between the daemon's start and the first sweep
STEP = 0.02  # seconds that a transaction should take, with its wait for the writer and the disk
BREATH = 0.01  # seconds between two transactions, at least
LEAST = 10  # turns or rows that a transaction removes
MOST_ROWS = 500  # more would hold the writer for longer than some 10 ms
# The same of rows with more to them: details, or words in the index of the search.
MOST: Mapping[retention.Remove, int] = {
    retention.delete_old_turns: 20,
    retention.delete_old_pictures: 20,
    retention.delete_old_trials: 20,
    retention.delete_old_messages: 100,
}
USAGE_DAYS = 400  # of usage: enough for monthly budgets and a year's report
TRIAL_DAYS = 30
log = structlog.get_logger()


@dataclass(eq=False)
class RetentionJob:
    """Removes data older than ``retention`` in agents.json allows, once a day."""

    store: Store
    agents: Callable[[], AgentsFile]
    clock: Callable[[], int]
    monotonic: Callable[[], float] = time.monotonic
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
        days, now, transact = self.agents().retention, self.clock(), self.store.transact
        turns = now - round(days.turn_days * DAY_MS)
        talk = now - round(days.conversation_days * DAY_MS)
        pictures = now - round(days.picture_days * DAY_MS)
        removed = {
            "turns": await self._remove_in_steps(retention.delete_old_turns, turns),
            "updates": await self._remove_in_steps(retention.delete_loose_messages, turns),
            "messages": await self._remove_in_steps(retention.delete_old_messages, talk),
            "pictures": await self._remove_in_steps(retention.delete_old_pictures, pictures),
            "trials": await self._remove_in_steps(
                retention.delete_old_trials, now - round(TRIAL_DAYS * DAY_MS)
            ),
            "codes": await transact(pairing.delete_expired_codes, now),
            "conversations": await self._remove_in_steps(
                retention.delete_unused_conversations, talk
            ),
            "rules": await transact(retention.delete_ended_rules, turns),
            "logins": await transact(retention.delete_ended_logins, now),
            "calls": await self._remove_in_steps(
                retention.delete_old_calls, now - round(USAGE_DAYS * DAY_MS)
            ),
        }
        log.debug("retention", **removed)

    async def _remove_in_steps(self, remove: retention.Remove, before: int) -> int:
        return await remove_in_steps(self.store, remove, before, self.monotonic)


async def remove_in_steps(
    store: Store, remove: retention.Remove, before: int, monotonic: Callable[[], float]
) -> int:
    """Remove all rows from before a time, in transactions of some ms, and return their number.

    Each pause is as long as the step, so that at least half of the writer's time is left. A step
    behind messages takes longer, so that the next one is smaller.
    """
    total, limit = 0, LEAST
    most = MOST.get(remove, MOST_ROWS)
    while True:
        start = monotonic()
        count = await store.transact(remove, before, limit)
        if not count:
            return total
        total += count
        taken = monotonic() - start
        fitting = round(limit * STEP / max(taken, STEP / 2))  # at most twice as many
        limit = min(max(fitting, LEAST), most)
        await anyio.sleep(max(taken, BREATH))
