"""Queries of the page: read-only, one state of the journal each, and cut off after 250 ms."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

import apsw

from orchestrator.errors import JournalError, TooSlowError
from orchestrator.journal_address import JournalAddress

T = TypeVar("T")
LONGEST = 0.25  # seconds of one query
STEPS = 2000  # of SQLite's virtual machine between two looks at the clock: well below 1 ms
CACHE = 256  # KiB of the journal in memory; the system keeps the rest of the file at hand
WAIT = 200  # milliseconds for a lock, which readers of a write-ahead log hardly meet


class PageReads(Protocol):
    """Reads a journal. What it needs of it is opened at once, and never again.

    ``lost`` is set once that does not work any more, ``failure`` then says why.
    """

    lost: asyncio.Event
    failure: JournalError | None

    async def __call__(self, read: Callable[..., T], *args: object) -> T:
        """Return ``read(db, *args)``.

        It runs on the event loop: this process has nothing else to do, and no query may be long.
        """

    def at_once(self, read: Callable[..., T], *args: object) -> T:
        """Return ``read(db, *args)``, which sees one state of the journal.

        Raises:
            TooSlowError: it took more than `LONGEST`.
            JournalError: the journal cannot be read.
        """

    def version(self) -> int:
        """Return a number that changes with each commit of the daemon."""

    def close(self) -> None: ...


def open_reads(address: JournalAddress) -> PageReads:
    """Open a journal.

    Raises:
        JournalError: it does not exist or cannot be read.
    """
    if isinstance(address, Path):
        return SqlitePageReads(address)
    from orchestrator.journal.postgresql.pg_page_reads import PostgresPageReads  # noqa: PLC0415 - optional

    return PostgresPageReads(address, LONGEST)


class SqlitePageReads:
    """Reads a file of SQLite, which stays open."""

    def __init__(
        self, journal: Path | apsw.Connection, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Open the journal, unless it is open.

        Raises:
            JournalError: it does not exist or cannot be read.
        """
        self.lost = asyncio.Event()
        self.failure: JournalError | None = None
        self._clock = clock
        self._ends = 0.0
        try:
            self._db = (
                journal
                if isinstance(journal, apsw.Connection)
                else apsw.Connection(str(journal), flags=apsw.SQLITE_OPEN_READONLY)
            )
            self._db.pragma("cache_size", -CACHE)
            self._db.pragma("temp_store", 2)  # in memory: the jail lets no file be made
            self._db.set_busy_timeout(WAIT)
            self._db.set_progress_handler(self._late, STEPS)
            self.version()
            self._db.execute("SELECT 1 FROM meta").fetchall()  # opens the write-ahead log too
        except apsw.Error as error:
            raise JournalError(f"the journal cannot be read ({error})") from error

    async def __call__(self, read: Callable[..., T], *args: object) -> T:
        """Return ``read(db, *args)``."""
        return self.at_once(read, *args)

    def at_once(self, read: Callable[..., T], *args: object) -> T:
        """Return ``read(db, *args)``."""
        self._ends = self._clock() + LONGEST
        try:
            self._db.execute("BEGIN")
            try:
                return read(self._db, *args)
            finally:
                self._ends = self._clock() + LONGEST
                self._db.execute("ROLLBACK")
        except apsw.InterruptError as error:
            raise TooSlowError from error
        except apsw.Error as error:
            raise JournalError(f"the journal cannot be read ({error})") from error

    def version(self) -> int:
        """Return a number that changes with each commit of the daemon."""
        self._ends = self._clock() + LONGEST
        return int(self._db.pragma("data_version"))

    def close(self) -> None:
        self._db.close()

    def _late(self) -> bool:
        return self._clock() > self._ends
