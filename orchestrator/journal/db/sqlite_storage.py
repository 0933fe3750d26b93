"""The journal as an SQLite file: one connection that writes, and two that read."""

import math
import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import apsw
import structlog
from anyio import to_thread

from orchestrator.errors import JournalError
from orchestrator.files import OffLoop
from orchestrator.journal import migrations
from orchestrator.journal.db import damage, journal_file
from orchestrator.journal.db.reader import JournalReader, SearchReader
from orchestrator.journal.db.writer import (
    CrashRecord,
    GroupCommit,
    JobWriter,
    StorageFailedError,
    WriterThread,
)
from orchestrator.journal_address import SharingDaemon

STATEMENTS = 512  # cached statements: more than there are; with triggers, preparing one takes 50 µs
PAGE = 1024  # bytes; a commit writes a page of every table and index that it changes
log = structlog.get_logger()


class SqliteStorage:
    """An open file. ``writer`` makes the object that runs its jobs, ``in_thread`` its searches."""

    watch = math.inf  # its home is locked

    def __init__(
        self,
        path: Path,
        writer: Callable[[GroupCommit], JobWriter] = WriterThread,
        in_thread: OffLoop = to_thread.run_sync,
    ) -> None:
        """Open and migrate the file, then start its writer.

        Raises:
            JournalError: the file cannot be opened, is damaged, or is newer than this program.
        """
        self.unclean = journal_file.was_left_open(Path(os.path.realpath(path)))
        self._db = open_database(path)
        self.address = path.resolve()
        self.crashes = CrashRecord(path.with_name(f"{path.name}-job"))
        self.read = JournalReader(path)
        self.search = SearchReader(path, in_thread)
        self.writer = writer(GroupCommit(self._db))

    def measure_size(self) -> int:
        """Return the size of the file and its write-ahead log in bytes."""
        files = (self.address, journal_file.build_wal_path(self.address))
        return sum(file.stat().st_size for file in files if file.exists())

    def clock_offset(self) -> int:
        return 0

    async def list_sharing_daemons(self) -> tuple[SharingDaemon, ...]:
        return ()

    def is_held(self) -> bool:
        return True

    def owns(self, owner: str) -> bool:
        del owner
        return True

    def close(self, failure: StorageFailedError | None) -> None:
        """Finish the queued jobs and close the file; a failed one is checked at the next start."""
        self.writer.close()
        self.read.close()  # first: the last connection to close removes the WAL
        self.search.close()
        self._db.close()
        self.crashes.remove_file()
        if failure is not None:
            with suppress(OSError):
                journal_file.mark_file_failed(self.address, failure)


def open_database(path: Path) -> apsw.Connection:
    """Open and migrate a journal file, readable only by its owner.

    Raises:
        JournalError: the file cannot be opened, is damaged, or is newer than this program.
    """
    path = path.resolve() if path.exists() else path  # SQLite's other files are beside the target
    unclean = journal_file.was_left_open(path)
    try:
        fresh = journal_file.prepare_file(path)
        db = apsw.Connection(str(path), statementcachesize=STATEMENTS)
    except (OSError, apsw.Error) as error:
        raise journal_file.make_open_error(path, error) from error
    try:
        db.set_busy_timeout(5000)  # ms; backups lock it, and the first reader after a kill
        version = migrations.verify_schema(db)  # before anything is written
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
        if unclean and (found := _find_damage(db, path)) is not None:
            raise journal_file.make_open_error(path, found)
        if version != migrations.load_schema().number:
            migrations.migrate(db)
        if fresh:
            journal_file.mark_file_complete(path)
            log.info("journal_created", path=str(path))
    except apsw.Error as error:
        db.close()
        raise journal_file.make_open_error(path, error) from error
    except (JournalError, OSError):
        db.close()
        raise
    return db


def _find_damage(db: apsw.Connection, path: Path) -> str | None:
    """Return damage: of the whole file after a failure, else what shows in a moment, or None.

    The daemon checks the rest of the file while it works.
    """
    if not journal_file.build_failed_mark_path(path).exists():
        return damage.find_damage_quickly(db)
    found = str(db.execute("PRAGMA quick_check(1)").get)
    if found != "ok":
        return found
    journal_file.build_failed_mark_path(path).unlink()
    return None


@contextmanager
def open_for_reading(path: Path) -> Iterator[apsw.Connection]:
    """Open a journal read-only, with or without a daemon, in one state for the block.

    A journal of an older version is read in an upgraded copy in memory.

    Raises:
        JournalError: the file does not exist, or cannot be read.
    """
    with open_without_upgrade(path) as db:
        version = migrations.verify_schema(db)
        if not version:
            raise JournalError(f"{path}: it is empty; start the daemon once, or restore it")
        if version == migrations.load_schema().number:
            yield db
            return
        with closing(apsw.Connection(":memory:")) as copy:
            with copy.backup("main", db, "main") as backup:
                backup.step()
            migrations.migrate(copy)
            yield copy


@contextmanager
def open_without_upgrade(path: Path) -> Iterator[apsw.Connection]:
    """Open a journal as `open_for_reading` does, but with its own schema."""
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
def open_memory_copy(path: Path) -> Iterator[apsw.Connection]:
    """Open a copy of a journal in memory; empty without a journal."""
    with closing(apsw.Connection(":memory:")) as db:
        if path.exists():
            with open_for_reading(path) as source, db.backup("main", source, "main") as copying:
                copying.step()
        migrations.migrate(db)
        yield db
