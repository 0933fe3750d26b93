"""Copy one state of the journal, even while a daemon writes to it."""

import errno
from contextlib import closing
from pathlib import Path

import apsw

from orchestrator.errors import JournalError
from orchestrator.journal.db import damage
from orchestrator.journal.db.sqlite_storage import open_without_upgrade

PAGES = 10_000  # copied at a time
MAPPED = 1 << 40  # bytes of the copy that are checked through memory: half of the work


def copy_journal(source: Path, target: Path) -> int:
    """Copy a journal to a new file, check the copy and return its schema number.

    Writers do not wait: SQLite makes the copy, on a separate connection. All pages of the copy are
    checked for damage; whether each index has what its table has is left to the restore.

    Raises:
        JournalError: the journal cannot be read or is damaged.
        OSError: the disk has no room for the copy.
    """
    with open_without_upgrade(source) as db:
        db.execute("SELECT count(*) FROM sqlite_schema").get  # noqa: B018 - fixes the state
        try:
            with closing(apsw.Connection(str(target))) as copy:
                # It needs no protection from a crash, which leaves no backup.
                copy.execute("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF").fetchall()
                with copy.backup("main", db, "main") as backup:
                    while not backup.done:
                        backup.step(PAGES)
                copy.execute(f"PRAGMA mmap_size={MAPPED}").fetchall()
                damage.skip_constraints(copy)
                return require_intact_schema(copy, source, "quick_check")
        except apsw.FullError as error:
            raise OSError(errno.ENOSPC, str(error), str(target)) from error


def require_intact_schema(db: apsw.Connection, shown: Path, check: str = "integrity_check") -> int:
    """Check an open journal and return its schema number; ``shown`` names the file in errors.

    ``check`` is the pragma that does it; ``quick_check`` does not compare indexes with tables.

    Raises:
        JournalError: the journal is damaged.
    """
    problem = db.execute(f"PRAGMA {check}(1)").get
    if problem != "ok":
        raise JournalError(
            f"{shown}: the journal is damaged ({problem}); stop the daemon and restore a backup"
        )
    return int(db.execute("PRAGMA user_version").get)
