"""Tells the operator when the daemon was away for longer than platforms keep messages."""

from collections.abc import Callable

import anyio
import structlog

from orchestrator.errors import JournalError
from orchestrator.journal.db import liveness
from orchestrator.journal.db.store import Store, report_failure

NOTED_EVERY = 600.0  # seconds
HOUR = 3_600_000  # milliseconds
KEPT = 24 * HOUR  # Telegram's time for updates that nobody fetches (reliability.md §5)
LOST = (
    "the daemon was away for {hours} hours; Telegram keeps messages for 24, so older ones may be"
    " lost: ask the people who wrote meanwhile"
)
log = structlog.get_logger()


class DowntimeMonitor:
    """Notes that the daemon lives. ``clock`` tells milliseconds since the epoch.

    ``hints`` holds a sentence for the operator when the last life ended too long ago.
    """

    def __init__(self, store: Store, clock: Callable[[], int]) -> None:
        self._store = store
        self._clock = clock
        self.hints: tuple[str, ...] = ()

    async def run(self) -> None:
        """Look back once, then note every ten minutes, until cancelled."""
        looked = False
        while True:
            now = self._clock()
            try:
                before = await self._store.transact(liveness.seen, now)
            except JournalError as error:
                report_failure(error)
                before = None
            if before is not None and not looked and now - before > KEPT:
                self.hints = (LOST.format(hours=(now - before) // HOUR),)
                log.error("messages_may_be_lost", problem=self.hints[0])
            looked = looked or before is not None
            await anyio.sleep(NOTED_EVERY)
