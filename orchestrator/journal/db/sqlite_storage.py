"""The journal as a file of SQLite: one connection that writes, and one that reads."""

import math
import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import apsw
import structlog

from orchestrator.errors import JournalError
from orchestrator.journal.db import journal_file
from orchestrator.journal.db.crash_record import CrashRecord
from orchestrator.journal.db.reader import JournalReader
from orchestrator.journal.db.store import SharingDaemon
from orchestrator.journal.db.writer import GroupCommit, JobWriter, WriterThread
from orchestrator.journal.migrations import migrate, scripts, verify

STATEMENTS = 512  # cached statements: more than there are; with triggers, preparing one takes 50 µs
PAGE = 1024  # bytes; a commit writes a page of every table and index that it changes
log = structlog.get_logger()


class SqliteStorage:
    """An open file. ``writer`` makes what runs its jobs."""

    watch = math.inf  # its home is locked

    def __init__(
        self, path: Path, writer: Callable[[GroupCommit], JobWriter] = WriterThread
    ) -> None:
        """Open and migrate the file, then start its writer.

        Raises:
            JournalError: the file cannot be opened, is damaged, or is newer than this program.
        """
        self.checked = self.unclean = journal_file.wal_of(Path(os.path.realpath(path))).exists()
        self._db = open_database(path)
        self.address = path.resolve()
        self.crashes = CrashRecord(path.with_name(f"{path.name}-job"))
        self.read = JournalReader(path)
        self.writer = writer(GroupCommit(self._db))

    def size(self) -> int:
        """Return the size of the file and its write-ahead log in bytes."""
        files = (self.address, journal_file.wal_of(self.address))
        return sum(file.stat().st_size for file in files if file.exists())

    def clock_offset(self) -> int:
        return 0

    async def sharing(self) -> tuple[SharingDaemon, ...]:
        return ()

    def held(self) -> bool:
        return True

    def close(self, *, failed: bool) -> None:
        """Finish the queued jobs and close the file; the next start looks through a failed one."""
        self.writer.close()
        self.read.close()  # first: the last connection to close removes the WAL
        self._db.close()
        self.crashes.remove()
        if failed:
            with suppress(OSError):
                journal_file.wal_of(self.address).touch()  # as an unclean end leaves it


def open_database(path: Path) -> apsw.Connection:
    """Open and migrate a journal file, readable by its owner alone.

    Raises:
        JournalError: the file cannot be opened, is damaged, or is newer than this program.
    """
    path = path.resolve() if path.exists() else path  # SQLite's other files are beside the target
    unclean = journal_file.wal_of(path).exists()
    try:
        fresh = journal_file.prepare(path)
        db = apsw.Connection(str(path), statementcachesize=STATEMENTS)
    except (OSError, apsw.Error) as error:
        raise journal_file.cannot_open(path, error) from error
    try:
        db.set_busy_timeout(5000)  # ms; backups lock it, and the first reader after a kill
        version = verify(db)  # before anything is written
        # Without this, SQLite plans many statements again for every new value.
        db.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        for pragma in (
            f"page_size={PAGE}",  # of a new file
            "secure_delete=FAST",  # pages that are split must not keep what moved away
            "journal_mode=WAL",
            "synchronous=FULL",
            "foreign_keys=ON",
            "journal_size_limit=67108864",
            "temp_store=MEMORY",  # the undo data of savepoints stays in memory
        ):
            db.execute(f"PRAGMA {pragma}")
        db.wal_autocheckpoint(4000 * PAGE // int(db.execute("PRAGMA page_size").get))  # 4 MB
        if unclean and (damage := db.execute("PRAGMA quick_check(1)").get) != "ok":
            raise journal_file.cannot_open(path, damage)
        if version < max(scripts()):
            migrate(db)
        if fresh:
            journal_file.made(path)
            log.info("journal_created", path=str(path))
    except apsw.Error as error:
        db.close()
        raise journal_file.cannot_open(path, error) from error
    except (JournalError, OSError):
        db.close()
        raise
    return db


@contextmanager
def reading(path: Path) -> Iterator[apsw.Connection]:
    """Open a journal read-only, with or without a running daemon, in one state for the block.

    A journal of an older version is read in a copy in memory that is brought up to date.

    Raises:
        JournalError: the file does not exist, or cannot be read.
    """
    with reading_as_it_is(path) as db:
        version = verify(db)
        if not version:
            raise JournalError(f"{path}: it is empty; start the daemon once, or restore it")
        if version == max(scripts()):
            yield db
            return
        with closing(apsw.Connection(":memory:")) as copy:
            with copy.backup("main", db, "main") as backup:
                backup.step()
            migrate(copy)
            yield copy


@contextmanager
def reading_as_it_is(path: Path) -> Iterator[apsw.Connection]:
    """Open a journal as `reading` does, with the schema that it has."""
    if not path.exists():
        raise JournalError(f"{path}: there is no journal; start the daemon once")
    try:
        with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as db:
            db.execute("BEGIN")
            yield db
    except apsw.Error as error:
        raise JournalError(
            f"{path}: the journal cannot be read ({error}); start the daemon once, or restore it"
        ) from error


@contextmanager
def copied(path: Path) -> Iterator[apsw.Connection]:
    """Open a copy of a journal in memory, empty if there is no journal."""
    with closing(apsw.Connection(":memory:")) as db:
        if path.exists():
            with reading(path) as source, db.backup("main", source, "main") as copying:
                copying.step()
        migrate(db)
        yield db
