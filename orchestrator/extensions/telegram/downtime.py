"""Warn the operator when the daemon was down for longer than Telegram keeps messages."""

from collections.abc import Callable
from dataclasses import dataclass, field

import anyio
import structlog

from orchestrator.errors import JournalError
from orchestrator.journal.db import liveness
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store, report_failure

PERIOD = 600.0  # seconds between two records that the daemon is alive
HOUR = 3_600_000  # milliseconds
UPDATE_LIFETIME = 24 * HOUR  # for which Telegram keeps updates, according to its Bot API
LOST = (
    "the daemon was down for {hours} hours; Telegram keeps messages for 24, so older ones may be"
    " lost: ask the people who wrote meanwhile"
)
log = structlog.get_logger()


@dataclass(eq=False)
class DowntimeMonitor:
    """Records that the daemon is alive. ``clock`` returns milliseconds since the epoch.

    ``hints`` has a warning for the operator when the daemon was down for too long.
    """

    store: Store
    clock: Callable[[], int]
    hints: tuple[str, ...] = field(default=(), init=False)

    async def run(self) -> None:
        """Check the last downtime once, then record every ten minutes, until cancelled."""
        checked = False
        while True:
            now = self.clock()
            try:
                before = await self.store.transact(record_alive_time, now)
            except JournalError as error:
                report_failure(error)
                before = None
            if before is not None and not checked and now - before > UPDATE_LIFETIME:
                self.hints = (LOST.format(hours=(now - before) // HOUR),)
                log.error("messages_may_be_lost", problem=self.hints[0])
            checked = checked or before is not None
            await anyio.sleep(PERIOD)


def record_alive_time(db: Database, now: int) -> int | None:
    """Store that the daemon runs at ``now`` and return the previous time (milliseconds)."""
    before = db.execute("SELECT v FROM meta WHERE k = 'alive_at'").get
    liveness.set_meta(db, "alive_at", now)
    return None if before is None else int(before)
