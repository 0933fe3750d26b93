"""A copy of the journal in one state, also while a daemon writes to it."""

import errno
from contextlib import closing
from pathlib import Path

import apsw

from orchestrator.errors import JournalError
from orchestrator.journal.db.sqlite_storage import reading_as_it_is

PAGES = 1000  # copied at a time


def copy_journal(source: Path, target: Path) -> int:
    """Copy a journal to a new file, check the copy and return the number of its schema.

    Writers do not wait: the copy is made by SQLite, through a connection of its own.

    Raises:
        JournalError: the journal cannot be read or is damaged.
        OSError: there is no room for the copy.
    """
    with reading_as_it_is(source) as db:
        db.execute("SELECT count(*) FROM sqlite_schema").get  # noqa: B018 - fixes the state
        try:
            with closing(apsw.Connection(str(target))) as copy:
                with copy.backup("main", db, "main") as backup:
                    while not backup.done:
                        backup.step(PAGES)
                return whole_schema(copy, source)
        except apsw.FullError as error:
            raise OSError(errno.ENOSPC, str(error), str(target)) from error


def whole_schema(db: apsw.Connection, shown: Path) -> int:
    """Return the number of an open journal's schema; ``shown`` names the file in an error.

    Raises:
        JournalError: it is damaged.
    """
    problem = db.execute("PRAGMA integrity_check(1)").get
    if problem != "ok":
        raise JournalError(
            f"{shown}: the journal is damaged ({problem}); stop the daemon and restore a backup"
        )
    return int(db.execute("PRAGMA user_version").get)
