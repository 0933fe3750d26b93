"""Queries of the page: read-only, each on one state of the journal, cut off when they take long.

What counts is the time of the processor, so that a query is not cut off because the machine is
busy with others; a second, longer limit counts all time.
"""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import apsw

from orchestrator.errors import JournalError, QueryTimeoutError
from orchestrator.journal.engine import PageReads
from orchestrator.journal.opening import find_engine
from orchestrator.journal_address import JournalAddress

T = TypeVar("T")
MAX_CPU_SECONDS = 0.25  # of a query
MAX_QUERY_SECONDS = 3.0  # of a query, with all waits; a database server knows only these
STEPS_PER_CHECK = 2000  # of SQLite's virtual machine per check of the clock: well below 1 ms
CACHE_KIB = 256  # of the journal in memory; the system keeps the rest of the file at hand
LOCK_WAIT_MS = 200  # for a lock, which readers of a write-ahead log hardly meet


def open_reads(address: JournalAddress) -> PageReads:
    """Open a journal.

    Raises:
        JournalError: the journal does not exist or cannot be read.
        ConfigError: the driver for a database server is not installed.
    """
    if isinstance(address, Path):
        return SqlitePageReads(address)
    return find_engine(address).open_page_reads(MAX_QUERY_SECONDS)


class SqlitePageReads:
    """Reads an SQLite file, which stays open."""

    def __init__(
        self,
        journal: Path | apsw.Connection,
        spent: Callable[[], float] = time.thread_time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Open the journal, unless it is open already.

        ``spent`` returns the seconds that a processor has worked for this thread.

        Raises:
            JournalError: the journal does not exist or cannot be read.
        """
        self.lost = asyncio.Event()
        self.failure: JournalError | None = None
        self._spent, self._clock = spent, clock
        self._spent_at_most = self._ends = 0.0
        try:
            self._db = (
                journal
                if isinstance(journal, apsw.Connection)
                else apsw.Connection(str(journal), flags=apsw.SQLITE_OPEN_READONLY)
            )
            self._db.pragma("cache_size", -CACHE_KIB)
            self._db.pragma("temp_store", 2)  # in memory: the jail lets no file be made
            self._db.set_busy_timeout(LOCK_WAIT_MS)
            self._db.set_progress_handler(self._is_too_late, STEPS_PER_CHECK)
            self.read_version()
            self._db.execute("SELECT 1 FROM meta").fetchall()  # opens the write-ahead log too
        except apsw.Error as error:
            raise JournalError(f"the journal cannot be read ({error})") from error

    async def __call__(self, read: Callable[..., T], *args: object) -> T:
        """Return ``read(db, *args)``."""
        return self.read_now(read, *args)

    def read_now(self, read: Callable[..., T], *args: object) -> T:
        """Return ``read(db, *args)``."""
        self._begin_limits()
        try:
            self._db.execute("BEGIN")
            try:
                return read(self._db, *args)
            finally:
                self._begin_limits()
                self._db.execute("ROLLBACK")
        except apsw.InterruptError as error:
            raise QueryTimeoutError from error
        except apsw.Error as error:
            raise JournalError(f"the journal cannot be read ({error})") from error

    def read_version(self) -> int:
        """Return a number that changes with each commit of the daemon."""
        self._begin_limits()
        return int(self._db.pragma("data_version"))

    def close(self) -> None:
        self._db.close()

    def _begin_limits(self) -> None:
        self._spent_at_most = self._spent() + MAX_CPU_SECONDS
        self._ends = self._clock() + MAX_QUERY_SECONDS

    def _is_too_late(self) -> bool:
        return self._spent() > self._spent_at_most or self._clock() > self._ends
