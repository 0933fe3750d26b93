"""Looking at the journal from the thread of whoever asks."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import apsw

from orchestrator.errors import JournalError

T = TypeVar("T")


class JournalReader:
    """Finds what is on disk, on the spot: a few queries take less than a way to another thread.

    It waits for no writer and sees everything whose commit somebody was told of.
    """

    def __init__(self, path: Path) -> None:
        """Open a file that is open for writing."""
        self._db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)

    def __call__(self, work: Callable[..., T], *args: object) -> T:
        """What ``work(db, *args)`` finds in one state of the journal; it must be short.

        Raises:
            JournalError: the file is closed or cannot be read.
        """
        try:
            self._db.execute("BEGIN")
            try:
                return work(self._db, *args)
            finally:
                self._db.execute("ROLLBACK")
        except apsw.Error as error:
            raise JournalError(f"the journal cannot be read ({error})") from error

    def close(self) -> None:
        """Look no more."""
        self._db.close()
