"""Read-only access to the journal."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import apsw

from orchestrator.errors import JournalError
from orchestrator.files import OffLoop
from orchestrator.journal.db.writer import JournalDamagedError
from orchestrator.loop_bound import mark_journal_job

T = TypeVar("T")


class JournalReader:
    """A read-only connection that runs queries on the caller's thread.

    A few queries take less time than a switch to the writer's thread. They wait for no writer and
    see every commit that was reported to a caller. A call does not suspend its caller, but callers
    must expect that, as it would with a journal across a network.
    """

    def __init__(self, path: Path) -> None:
        """Open a reader of a journal that a `Store` has open."""
        self._db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)

    async def __call__(self, work: Callable[..., T], *args: object) -> T:
        """Return ``work(db, *args)``, which sees one state of the journal and must be short.

        Like a job of the writer, it gets plain data and changes nothing in this process.

        Raises:
            JournalError: the file is closed or cannot be read.
            JournalDamagedError: a damaged page was read.
        """
        return self.read_now(work, *args)

    def read_now(self, work: Callable[..., T], *args: object) -> T:
        """Do as a call does."""
        try:
            self._db.execute("BEGIN")
            try:
                return work(self._db, *args)
            finally:
                self._db.execute("ROLLBACK")
        except apsw.CorruptError as error:
            raise JournalDamagedError(error) from error
        except apsw.Error as error:
            raise JournalError(f"the journal cannot be read ({error})") from error

    def close(self) -> None:
        self._db.close()


class SearchReader:
    """Reads that may take long, one at a time, on another thread.

    Neither the event loop nor the writer waits for them. A caller that is cancelled waits for the
    end of its read.
    """

    def __init__(self, path: Path, in_thread: OffLoop) -> None:
        self._reader = JournalReader(path)
        self._in_thread = in_thread
        self._free = asyncio.Lock()

    async def __call__(self, work: Callable[..., T], *args: object) -> T:
        """Return ``work(db, *args)``, as `JournalReader` does."""
        async with self._free:
            return await self._in_thread(self._read_marked, work, args)

    def _read_marked(self, work: Callable[..., T], args: tuple[object, ...]) -> T:
        with mark_journal_job():
            return self._reader.read_now(work, *args)

    def close(self) -> None:
        self._reader.close()
