"""Look for damaged pages in a journal's file, on any thread or in a process of its own."""

import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw

from orchestrator.journal.db import damage
from orchestrator.journal.db.journal_file import build_wal_path

MAPPED = 1 << 40  # bytes of the file that are read through memory: ten times less work for a disk
LOG_SIZE = 128 << 20  # bytes of the write-ahead log, at which the check of a table gives way
STEPS = 100_000  # pages or instructions between two looks at the log
WAY = 1.0  # seconds in which the log is begun anew


class DamageReader:
    """A read-only connection that looks for damaged pages, on any thread."""

    def __init__(self, path: Path) -> None:
        self._db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        damage.skip_constraints(self._db)

    def list_tables(self) -> list[str]:
        return damage.list_tables(self._db)

    def find_damage(self, table: str) -> str | None:
        """Return the first damage of a table, or None; also None after `interrupt`."""
        try:
            return damage.find_damage(self._db, table)
        except apsw.InterruptError:
            return None

    def interrupt(self) -> None:
        """Interrupt a check on another thread."""
        self._db.interrupt()

    def close(self) -> None:
        self._db.close()


def find_file_damage(path: Path, pause: Callable[[float], None] = time.sleep) -> str | None:
    """Return the first damage of a journal's file, or None.

    A disk that fails may end the process: the file is mapped into memory. While a table is read,
    the write-ahead log cannot begin anew. So the reading gives way when the log has become long,
    and may last for twice as much of it the next time.
    """
    log, limit = build_wal_path(path), LOG_SIZE

    def is_log_long() -> bool:
        return log.exists() and log.stat().st_size > limit

    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as db:
        db.execute(f"PRAGMA mmap_size={MAPPED}").fetchall()
        damage.skip_constraints(db)
        tables = damage.list_tables(db)
        db.set_progress_handler(is_log_long, STEPS)
        while tables:
            try:
                found = damage.find_damage(db, tables[-1])
            except apsw.InterruptError:
                limit *= 2
                pause(WAY)
                continue
            if found is not None:
                return found
            tables.pop()
    return None
