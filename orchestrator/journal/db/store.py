"""The journal's file: one connection that writes, and one that reads."""

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import anyio
import apsw
import structlog
from structlog.contextvars import get_contextvars

from orchestrator.errors import JournalError
from orchestrator.journal.db import journal_file
from orchestrator.journal.db.crash_record import CrashRecord
from orchestrator.journal.db.reader import JournalReader
from orchestrator.journal.db.writer import (
    Job,
    JobWriter,
    StorageFailedError,
    StorageFullError,
    WriterThread,
)
from orchestrator.journal.migrations import migrate, scripts, verify
from orchestrator.loop_owned import LoopOwned

STORAGE_RETRY = 2.0  # seconds between two tries to write what could not be written
STATEMENTS = 512  # cached statements: more than there are; with triggers, preparing one takes 50 µs
PAGE = 1024  # bytes; a commit writes a page of every table and index that it changes
T = TypeVar("T")
log = structlog.get_logger()


class FencedError(JournalError):
    """A newer owner has changed the row; the caller must stop changing it."""


async def retry_later(error: JournalError, **facts: str) -> None:
    """Log that the journal could not be used, and wait before the caller tries again."""
    report_failure(error, **facts)
    await anyio.sleep(STORAGE_RETRY)


def report_failure(error: JournalError, **facts: str) -> None:
    log.error("journal_failed", problem=str(error), **facts)


class Store(LoopOwned):
    """The open journal. `transact`, `attempt` and `read` are the only ways in.

    `transact` waits while the disk is full; `attempt` does not. ``failure`` is set once the disk
    has failed. ``checked`` tells that the file was looked through for damage when it was opened,
    ``crashes`` in which job the process before this one died.
    """

    def __init__(
        self,
        path: Path,
        retry: float = STORAGE_RETRY,
        writer: Callable[[apsw.Connection], JobWriter] = WriterThread,
    ) -> None:
        """Open and migrate the file, then start its writer.

        Raises:
            JournalError: the file cannot be opened, is damaged, or is newer than this program.
        """
        self.failure: StorageFailedError | None = None
        self._failed = asyncio.Event()
        self._refused: set[Callable[..., object]] = set()  # work that did not fit on the disk
        self._retry = retry
        self._closed = False
        self.checked = journal_file.wal_of(Path(os.path.realpath(path))).exists()
        self._db = open_database(path)
        self.path = path.resolve()
        self.crashes = CrashRecord(path.with_name(f"{path.name}-job"))
        self.read = JournalReader(path)
        self._writer = writer(self._db)

    async def transact(self, work: Callable[..., T], *args: object) -> T:
        """Run ``work(db, *args)`` in a transaction and return its value once it is on disk.

        While the disk is full, the work is repeated every `STORAGE_RETRY` seconds. Cancelling the
        caller does not undo the work.

        Raises:
            JournalError: the file is locked or closed.
            StorageFailedError: the disk failed, in this transaction or an earlier one.
            Exception: raised by ``work``, which was rolled back.
        """
        try:
            while True:
                with suppress(StorageFullError):
                    return await self.attempt(work, *args)
                await anyio.sleep(self._retry)
        finally:
            self._refused.discard(work)  # a cancelled caller tries no more

    async def attempt(self, work: Callable[..., T], *args: object) -> T:
        """Run ``work(db, *args)`` like `transact`, but only once.

        Raises:
            StorageFullError: the disk is full; nothing was written.
        """
        if self._closed:
            raise JournalError("the journal is closed")
        if self.failure is not None:
            raise self.failure
        loop = asyncio.get_running_loop()
        chat = str(get_contextvars().get("chat_id", ""))  # what is logged is done for it
        job: Job[T] = Job(work, args, loop.create_future(), loop, self.crashes, chat)
        self._writer.put(job)
        try:
            value = await job.future
        except StorageFullError as error:
            if not self._refused:
                log.error("storage_full", problem=str(error))
            self._refused.add(work)
            raise
        except StorageFailedError as error:
            self.fail(error)
            raise
        if work in self._refused and job.wrote:  # other, smaller work may fit on a full disk
            self._refused.remove(work)
            if not self._refused:
                log.info("storage_has_space")
        return value

    def fail(self, error: StorageFailedError) -> None:
        """Write no more; `failed` returns the error."""
        self.failure = error
        self._failed.set()

    async def failed(self) -> StorageFailedError:
        await self._failed.wait()
        return self.failure or StorageFailedError("the journal cannot be used any more")

    def size(self) -> int:
        """Return the size of the file and its write-ahead log in bytes."""
        files = (self.path, journal_file.wal_of(self.path))
        return sum(file.stat().st_size for file in files if file.exists())

    def close(self) -> None:
        """Finish the queued jobs and close the file; the next start looks through a failed one."""
        self._closed = True
        self._writer.close()
        self.read.close()  # first: the last connection to close removes the WAL
        self._db.close()
        self.crashes.remove()
        if self.failure is not None:
            with suppress(OSError):
                journal_file.wal_of(self.path).touch()  # as an unclean end leaves it


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
