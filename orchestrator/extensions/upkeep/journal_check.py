"""Check a journal once for damaged pages, after a clean shutdown.

After an unclean shutdown the start checks the file itself. After a clean one that would only delay
the start, so the file is checked while the daemon works: on another thread, one table at a time,
since a long read would make the write-ahead log grow.
"""

from contextlib import closing
from dataclasses import dataclass

import anyio
import structlog
from anyio import to_thread

from orchestrator.extensions.upkeep.damage_reader import DamageReader
from orchestrator.files import OffLoop
from orchestrator.journal.db.store import Store
from orchestrator.journal.db.writer import StorageFailedError
from orchestrator.journal.migrations import MOVE_AWAY
from orchestrator.journal_address import find_journal_file
from orchestrator.wakeup import call_when_cancelled

FIRST = 5.0  # seconds after the start, when the daemon is busy
BREATH = 0.05  # seconds between two tables
log = structlog.get_logger()


@dataclass(frozen=True)
class JournalCheck:
    """Stops all writing when it finds damage, which later writes would hide."""

    store: Store
    first: float = FIRST
    in_thread: OffLoop = to_thread.run_sync

    async def run(self) -> None:
        """Check the file until done or cancelled, unless the start has checked it."""
        if self.store.checked:
            return
        await anyio.sleep(self.first)
        problem = await self._find_damage()
        if problem is None:
            log.debug("journal_checked")
            return
        log.error("journal_damaged", problem=problem)
        damaged = f"{self.store.address}: the journal is damaged ({problem})"
        self.store.record_failure(
            StorageFailedError(f"{damaged}; restore a backup, or {MOVE_AWAY}")
        )

    async def _find_damage(self) -> str | None:
        """Return the first damage; None if there is none."""
        with closing(DamageReader(find_journal_file(self.store.address))) as reader:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(call_when_cancelled, reader.interrupt)  # a large table takes long
                try:
                    for table in reader.list_tables():
                        found = await self.in_thread(reader.find_damage, table)
                        if found is not None:
                            return found
                        await anyio.sleep(BREATH)
                finally:
                    tasks.cancel_scope.cancel()
        return None
