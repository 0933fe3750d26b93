"""Read-only access to the journal."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import apsw

from orchestrator.errors import JournalError
from orchestrator.journal.db.writer import JournalDamagedError

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
