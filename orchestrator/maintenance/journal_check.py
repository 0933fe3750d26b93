"""Look once for damaged pages in a journal that was closed cleanly.

The start after an unclean end does so itself. After a clean one it would only cost time, so the
file is checked while the daemon works: on another thread, and a table at a time, so that the
write-ahead log does not grow for the sake of one long reader.
"""

from contextlib import closing
from dataclasses import dataclass

import anyio
import apsw
import structlog
from anyio import to_thread

from orchestrator.files import OffLoop
from orchestrator.journal.db.store import Store
from orchestrator.journal.db.writer import StorageFailedError
from orchestrator.journal.migrations import MOVE_AWAY
from orchestrator.wakeup import when_canceled

FIRST = 5.0  # seconds after the start, which has other work
BREATH = 0.05  # seconds between two tables
TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
log = structlog.get_logger()


@dataclass(frozen=True)
class JournalCheck:
    """Ends all writing when it finds damage: what is written on could not be told from it."""

    store: Store
    first: float = FIRST
    in_thread: OffLoop = to_thread.run_sync

    async def run(self) -> None:
        """Check the file, unless its opening did, until done or canceled."""
        if self.store.checked:
            return
        await anyio.sleep(self.first)
        problem = await self._damage()
        if problem is None:
            log.debug("journal_checked")
            return
        log.error("journal_damaged", problem=problem)
        damaged = f"{self.store.address}: the journal is damaged ({problem})"
        self.store.fail(StorageFailedError(f"{damaged}; restore a backup, or {MOVE_AWAY}"))

    async def _damage(self) -> str | None:
        """Return the first damage, or None."""
        path = str(self.store.address)
        with closing(apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)) as db:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(when_canceled, db.interrupt)  # a large table takes long
                try:
                    for (table,) in db.execute(TABLES).fetchall():
                        found = await self.in_thread(_quick_check, db, str(table))
                        if found is not None:
                            return found
                        await anyio.sleep(BREATH)
                finally:
                    tasks.cancel_scope.cancel()
        return None


def _quick_check(db: apsw.Connection, table: str) -> str | None:
    try:
        found = str(db.execute(f"PRAGMA quick_check('{table}')").get)
    except apsw.InterruptError:
        return None
    except apsw.Error as error:  # it cannot even be read
        return str(error)
    return None if found == "ok" else found
