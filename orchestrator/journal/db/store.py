"""The journal's file: one connection, one writer thread, group commit.

Jobs that wait when the thread is free share one ``BEGIN IMMEDIATE … COMMIT`` and so one fsync. Each
of several jobs runs in a savepoint, so that a failure rolls back only its own job. A caller gets
its result after the commit, never before.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

import anyio
import apsw
import structlog

from orchestrator.errors import ExitCode, JournalError, OrchestratorError
from orchestrator.failpoints import failpoint
from orchestrator.journal.db.reader import JournalReader
from orchestrator.journal.migrations import migrate

STORAGE_RETRY = 2.0  # seconds between two tries to write what could not be written
GROUP = 64  # most jobs that share a commit; in measurements, 32 were enough
STATEMENTS = 512  # cached statements: more than there are; with triggers, preparing one takes 50 µs
T = TypeVar("T")
log = structlog.get_logger()


class StorageFullError(JournalError):
    """The disk is full: nothing was written, so nothing may be acknowledged."""


class FencedError(JournalError):
    """A newer owner has changed the row; the caller must stop changing it."""


class StorageFailedError(OrchestratorError):
    """The disk failed during a write, so the content of the file is unknown.

    This is not a `JournalError`: a caller must not try again. The daemon has to end, as only
    opening the file anew shows what is on disk.
    """

    exit_code = ExitCode.IO


async def retry_later(error: JournalError, **facts: str) -> None:
    """Log that the journal could not be used, and wait before the caller tries again."""
    report_failure(error, **facts)
    await anyio.sleep(STORAGE_RETRY)


def report_failure(error: JournalError, **facts: str) -> None:
    log.error("journal_failed", problem=str(error), **facts)


@dataclass
class _Job(Generic[T]):
    work: Callable[..., T]
    args: tuple[object, ...]
    future: "asyncio.Future[T]"
    loop: asyncio.AbstractEventLoop
    value: T | None = None
    error: BaseException | None = None
    wrote: bool = False


class Store:
    """The open journal. `transact`, `attempt` and `read` are the only ways in.

    `transact` waits while the disk is full; `attempt` does not. ``failure`` is set once the disk
    has failed.
    """

    def __init__(self, path: Path, retry: float = STORAGE_RETRY) -> None:
        """Open and migrate the file, then start the writer thread.

        Raises:
            JournalError: the file cannot be opened, is damaged, or is newer than this program.
        """
        self.path = path
        self.failure: StorageFailedError | None = None
        self._failed = asyncio.Event()
        self._full = False
        self._retry = retry
        self._closed = False
        self._queue: SimpleQueue[_Job[Any] | None] = SimpleQueue()
        self._db = open_database(path)
        self.read = JournalReader(path)
        self._thread = threading.Thread(target=self._serve, name="journal", daemon=True)
        self._thread.start()

    async def transact(self, work: Callable[..., T], *args: object) -> T:
        """Run ``work(db, *args)`` in a transaction and return its value once it is on disk.

        While the disk is full, the work is repeated every `STORAGE_RETRY` seconds. Cancelling the
        caller does not undo the work.

        Raises:
            JournalError: the file is locked or closed.
            StorageFailedError: the disk failed, in this transaction or an earlier one.
            Exception: raised by ``work``, which was rolled back.
        """
        while True:
            try:
                return await self.attempt(work, *args)
            except StorageFullError:
                await anyio.sleep(self._retry)

    async def attempt(self, work: Callable[..., T], *args: object) -> T:
        """Run ``work(db, *args)`` like `transact`, but only once.

        Raises:
            StorageFullError: the disk is full; nothing was written.
        """
        if self._closed:
            raise JournalError("the journal is closed")
        loop = asyncio.get_running_loop()
        job: _Job[T] = _Job(work, args, loop.create_future(), loop)
        self._queue.put(job)
        try:
            value = await job.future
        except StorageFullError as error:
            if not self._full:
                log.error("storage_full", problem=str(error))
            self._full = True
            raise
        except StorageFailedError as error:
            self.failure = error
            self._failed.set()
            raise
        if self._full and job.wrote:
            log.info("storage_has_space")
            self._full = False
        return value

    async def failed(self) -> StorageFailedError:
        await self._failed.wait()
        return self.failure or StorageFailedError("the journal cannot be used any more")

    def size(self) -> int:
        """Return the size of the file and its write-ahead log in bytes."""
        files = (self.path, self.path.with_name(f"{self.path.name}-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    def close(self) -> None:
        """Finish the queued jobs and close the file."""
        self._closed = True
        self._queue.put(None)
        self._thread.join()
        self.read.close()  # first: the last connection to close removes the WAL
        self._db.close()

    def _serve(self) -> None:
        broken: StorageFailedError | None = None
        while (job := self._queue.get()) is not None:
            group = [job]
            while len(group) < GROUP and not self._queue.empty():
                following = self._queue.get()
                if following is None:
                    self._queue.put(None)  # ends the thread after this group
                    break
                group.append(following)
            broken = broken or _commit(self._db, group)
            for done in group:
                done.error = broken or done.error
            for loop in {done.loop for done in group}:
                with suppress(RuntimeError):  # the loop is closed, and its callers with it
                    loop.call_soon_threadsafe(_settle, [job for job in group if job.loop is loop])


def open_database(path: Path) -> apsw.Connection:
    """Open and migrate a journal file, readable by its owner alone.

    Raises:
        JournalError: the file cannot be opened, is damaged, or is newer than this program.
    """
    unclean = path.with_name(f"{path.name}-wal").exists()  # a clean end removes it
    try:
        path.touch(mode=0o600)
        path.chmod(0o600)
        db = apsw.Connection(str(path), statementcachesize=STATEMENTS)
    except (OSError, apsw.Error) as error:
        raise _cannot_open(path, error) from error
    try:
        # Without this, SQLite plans many statements again for every new value.
        db.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        db.set_busy_timeout(5000)  # milliseconds, for backup tools that lock the file briefly
        for pragma in (
            "journal_mode=WAL",
            "synchronous=FULL",
            "foreign_keys=ON",
            "journal_size_limit=67108864",
            "temp_store=MEMORY",  # the undo data of savepoints stays in memory
        ):
            db.execute(f"PRAGMA {pragma}")
        if unclean and (damage := db.execute("PRAGMA quick_check(1)").get) != "ok":
            raise _cannot_open(path, damage)
        migrate(db)
    except apsw.Error as error:
        db.close()
        raise _cannot_open(path, error) from error
    except JournalError:
        db.close()
        raise
    return db


@contextmanager
def reading(path: Path) -> Iterator[apsw.Connection]:
    """Open a journal read-only, with or without a running daemon, in one state for the block.

    Raises:
        JournalError: the file does not exist, or cannot be read.
    """
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


def _cannot_open(path: Path, problem: object) -> JournalError:
    return JournalError(
        f"{path}: cannot open the journal ({problem}); restore a backup or move the file away"
    )


def _commit(db: apsw.Connection, group: list[_Job[Any]]) -> StorageFailedError | None:
    """Run a group of jobs in one transaction; if the commit fails, all of them fail.

    Returns an error after which the file must not be used any more, or None.
    """
    try:
        db.execute("BEGIN IMMEDIATE")
        if len(group) == 1:
            _run(db, group[0], back="ROLLBACK")
        else:
            for job in group:
                db.execute("SAVEPOINT job")
                _run(db, job, back="ROLLBACK TO job")
                db.execute("RELEASE job")
        _pass(group, "before")
        if db.in_transaction:
            db.execute("COMMIT")
        _pass(group, "after")
    except (apsw.IOError, apsw.CorruptError) as error:
        return StorageFailedError(f"the journal cannot be used any more ({error}); check the disk")
    except apsw.Error as error:
        full = isinstance(error, apsw.FullError)
        for job in group:
            job.error = (
                StorageFullError(f"the disk is full ({error}); free some space")
                if full
                else JournalError(f"the journal cannot be written ({error})")
            )
        if db.in_transaction:
            db.execute("ROLLBACK")
    return None


def _settle(group: list[_Job[Any]]) -> None:
    for job in group:
        if job.future.done():
            continue
        if job.error is not None:
            job.future.set_exception(job.error)
        else:
            job.future.set_result(job.value)


def _run(db: apsw.Connection, job: _Job[Any], back: str) -> None:
    """Run a job; the statement ``back`` undoes it if it fails."""
    changes = db.total_changes()
    try:
        job.value = job.work(db, *job.args)
        job.wrote = db.total_changes() > changes
    except (apsw.FullError, apsw.IOError, apsw.CorruptError):
        raise  # SQLite has rolled back the whole transaction
    except Exception as error:  # noqa: BLE001 - the job's caller gets it
        job.error = error
        db.execute(back)


def _pass(group: list[_Job[Any]], side: str) -> None:
    """Pass a crash point for each function that has written."""
    for job in group:
        if job.wrote:
            failpoint(f"{job.work.__name__.lstrip('_')}:{side}")
