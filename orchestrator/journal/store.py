"""The journal's file: one connection, one writer thread, group commit.

Whatever waits when the thread is free shares one ``BEGIN IMMEDIATE … COMMIT`` and therefore one
fsync; each job runs in a savepoint of its own, so that one that fails takes back only itself.
A job's caller hears of it after the commit, never before.
"""

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

import apsw
import structlog

from orchestrator.errors import JournalError
from orchestrator.journal.migrations import migrate

GROUP = 64  # jobs that share a commit at most; reliability.md §0 measured 32 as enough
T = TypeVar("T")
log = structlog.get_logger()


class StorageFullError(JournalError):
    """The disk is full: nothing was written, nothing may be acknowledged."""


class FencedError(JournalError):
    """The row was changed by a newer owner; the caller must stop touching it."""


@dataclass
class _Job(Generic[T]):
    work: Callable[..., T]
    args: tuple[object, ...]
    future: "asyncio.Future[T]"
    loop: asyncio.AbstractEventLoop
    value: T | None = None
    error: BaseException | None = None

    def settle(self) -> None:
        if self.future.done():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.value)  # type: ignore[arg-type]  # T may be None


class Store:
    """The open journal. `transact` is the only way in."""

    def __init__(self, path: Path) -> None:
        """Open and migrate the file, then start the writer thread.

        Raises:
            JournalError: it cannot be opened, is damaged, or is newer than this program.
        """
        self.path = path
        self._queue: SimpleQueue[_Job[Any] | None] = SimpleQueue()
        self._db = open_database(path)
        self._thread = threading.Thread(target=self._serve, name="journal", daemon=True)
        self._thread.start()

    async def transact(self, work: Callable[..., T], *args: object) -> T:
        """Run ``work(db, *args)`` in a transaction and return its value once that is on disk.

        A caller that is cancelled meanwhile does not undo the work.

        Raises:
            StorageFullError: the disk is full; nothing was written.
            JournalError: the file cannot be written.
            Exception: whatever ``work`` raised; nothing of it was written.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._queue.put(_Job(work, args, future, loop))
        return await future

    def close(self) -> None:
        """Finish what is queued and close the file."""
        self._queue.put(None)
        self._thread.join()
        self._db.close()

    def _serve(self) -> None:
        while (job := self._queue.get()) is not None:
            group, more = [job], True
            while more and len(group) < GROUP and not self._queue.empty():
                following = self._queue.get()
                if following is None:
                    more = False
                else:
                    group.append(following)
            _commit(self._db, group)
            for done in group:
                done.loop.call_soon_threadsafe(done.settle)
            if not more:
                return


def open_database(path: Path) -> apsw.Connection:
    """Open and migrate a journal file, readable by its owner alone.

    Raises:
        JournalError: it cannot be opened, is damaged, or is newer than this program.
    """
    path.touch(mode=0o600)
    try:
        db = apsw.Connection(str(path))
        db.set_busy_timeout(5000)  # milliseconds: a backup tool may hold the file for a moment
        for pragma in (
            "journal_mode=WAL",
            "synchronous=FULL",
            "foreign_keys=ON",
            "journal_size_limit=67108864",
        ):
            db.execute(f"PRAGMA {pragma}")
        migrate(db)
    except apsw.Error as error:
        raise JournalError(
            f"{path}: cannot open the journal ({error}); restore a backup or move the file away"
        ) from error
    return db


def _commit(db: apsw.Connection, group: list[_Job[Any]]) -> None:
    """Run a group in one transaction; on a failed commit every job of it has failed."""
    try:
        db.execute("BEGIN IMMEDIATE")
        for job in group:
            _run(db, job)
        db.execute("COMMIT")
    except apsw.Error as error:
        if db.in_transaction:
            db.execute("ROLLBACK")
        failure = _translated(error)
        for job in group:
            job.error = failure


def _run(db: apsw.Connection, job: _Job[Any]) -> None:
    db.execute("SAVEPOINT job")
    try:
        job.value = job.work(db, *job.args)
    except (apsw.FullError, apsw.IOError, apsw.CorruptError):
        raise  # the whole transaction is gone with it
    except Exception as error:  # noqa: BLE001 - it is the caller's, who gets it
        job.error = error
        db.execute("ROLLBACK TO job")
    db.execute("RELEASE job")


def _translated(error: apsw.Error) -> JournalError:
    if isinstance(error, apsw.FullError):
        return StorageFullError(f"the disk is full ({error}); free some space")
    return JournalError(f"the journal cannot be written ({error})")
