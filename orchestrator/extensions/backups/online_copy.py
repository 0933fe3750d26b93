"""Copy one state of the journal, even while a daemon writes to it."""

import errno
from contextlib import closing
from pathlib import Path

import apsw

from orchestrator.errors import JournalError
from orchestrator.journal.db.sqlite_storage import open_without_upgrade

PAGES = 1000  # copied at a time


def copy_journal(source: Path, target: Path) -> int:
    """Copy a journal to a new file, check the copy and return its schema number.

    Writers do not wait: SQLite makes the copy, on a separate connection.

    Raises:
        JournalError: the journal cannot be read or is damaged.
        OSError: the disk has no room for the copy.
    """
    with open_without_upgrade(source) as db:
        db.execute("SELECT count(*) FROM sqlite_schema").get  # noqa: B018 - fixes the state
        try:
            with closing(apsw.Connection(str(target))) as copy:
                with copy.backup("main", db, "main") as backup:
                    while not backup.done:
                        backup.step(PAGES)
                return require_intact_schema(copy, source)
        except apsw.FullError as error:
            raise OSError(errno.ENOSPC, str(error), str(target)) from error


def require_intact_schema(db: apsw.Connection, shown: Path) -> int:
    """Check an open journal and return its schema number; ``shown`` names the file in errors.

    Raises:
        JournalError: the journal is damaged.
    """
    problem = db.execute("PRAGMA integrity_check(1)").get
    if problem != "ok":
        raise JournalError(
            f"{shown}: the journal is damaged ({problem}); stop the daemon and restore a backup"
        )
    return int(db.execute("PRAGMA user_version").get)
