"""The writer of the journal's file: group commit, on a thread of its own.

Jobs that wait when the writer is free share one ``BEGIN IMMEDIATE … COMMIT`` and so one fsync. Each
of several jobs runs in a savepoint, so that a failure rolls back only its own job. A caller gets
its result after the commit, never before.
"""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Generic, Protocol, TypeVar

import apsw

from orchestrator.errors import ExitCode, JournalError, OrchestratorError
from orchestrator.failpoints import failpoint
from orchestrator.journal.db.crash_record import CrashRecord
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.savepoints import ABORTED
from orchestrator.loop_owned import off_the_loop

GROUP = 64  # most jobs that share a commit; in measurements, 32 were enough
T = TypeVar("T")


class StorageFullError(JournalError):
    """The disk is full: nothing was written, so nothing may be acknowledged."""


class StorageFailedError(OrchestratorError):
    """The disk failed during a write, so the content of the file is unknown.

    This is not a `JournalError`: a caller must not try again. The daemon has to end, as only
    opening the file anew shows what is on disk.
    """

    exit_code = ExitCode.IO


class JournalTakenError(StorageFailedError):
    """Another daemon has taken the journal; this one may stand by until that one ends."""


@dataclass
class Job(Generic[T]):
    """One job: ``work(db, *args)``, and the future that gets its value after the commit.

    ``chat`` is the chat that the job is done for, or empty.
    """

    work: Callable[..., T]
    args: tuple[object, ...]
    future: "asyncio.Future[T]"
    loop: asyncio.AbstractEventLoop
    crashes: CrashRecord
    chat: str = ""
    value: T | None = None
    error: BaseException | None = None
    wrote: bool = False

    @property
    def name(self) -> str:  # for crash points and the crash record; a partial has none
        return self.work.__name__

    def run(self, db: Database) -> T:
        with self.crashes.in_hand(self.name, self.chat), off_the_loop():
            return self.work(db, *self.args)


class WrittenDatabase(Database, Protocol):
    """A database that counts what was written."""

    def total_changes(self) -> int: ...


class JobWriter(Protocol):
    """Runs jobs in order, those that wait together in one transaction."""

    def put(self, job: Job[Any]) -> None:
        """Take a job."""

    def close(self) -> None:
        """Finish the jobs that were put."""


class GroupCommit:
    """Commits groups of jobs to a file, until the disk fails."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        self._broken: StorageFailedError | None = None

    def commit(self, group: list[Job[Any]]) -> None:
        """Run a group in one transaction and give each job its value or error."""
        self._broken = self._broken or _commit(self._db, group)
        for job in group:
            job.error = self._broken or job.error

    def beat(self) -> None:
        """Do nothing: a file needs no sign of life."""


class Commits(Protocol):
    """Commits groups of jobs."""

    def commit(self, group: list[Job[Any]]) -> None:
        """Run a group in one transaction and give each job its value or error."""

    def beat(self) -> None:
        """Do what an idle writer has to do."""


class WriterThread:
    """The writer thread of an open journal; idle, it beats every ``beat`` seconds."""

    def __init__(self, commits: Commits, beat: float | None = None) -> None:
        self._commits = commits
        self._beat = beat
        self._queue: SimpleQueue[Job[Any] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name="journal", daemon=True)
        self._thread.start()

    def put(self, job: Job[Any]) -> None:
        self._queue.put(job)

    def close(self) -> None:
        self._queue.put(None)
        self._thread.join()

    def _next(self) -> Job[Any] | None:
        while True:
            with suppress(Empty):
                return self._queue.get(timeout=self._beat)
            self._commits.beat()

    def _serve(self) -> None:
        while (job := self._next()) is not None:
            group = [job]
            while len(group) < GROUP and not self._queue.empty():
                following = self._queue.get()
                if following is None:
                    self._queue.put(None)  # ends the thread after this group
                    break
                group.append(following)
            self._commits.commit(group)
            for loop in {done.loop for done in group}:
                with suppress(RuntimeError):  # the loop is closed, and its callers with it
                    loop.call_soon_threadsafe(settle, [job for job in group if job.loop is loop])


def _commit(db: apsw.Connection, group: list[Job[Any]]) -> StorageFailedError | None:
    """Run a group of jobs in one transaction; if the commit fails, all of them fail.

    Returns an error after which the file must not be used any more, or None.
    """
    try:
        db.execute("BEGIN IMMEDIATE")
        run_jobs(db, group)
        pass_points(group, "before")
        if db.in_transaction:
            db.execute("COMMIT")
        pass_points(group, "after")
    except (apsw.IOError, apsw.CorruptError) as error:
        return StorageFailedError(f"the journal cannot be used any more ({error}); check the disk")
    except apsw.Error as error:
        for job in group:
            job.error = (
                StorageFullError(f"the disk is full ({error}); free some space")
                if isinstance(error, apsw.FullError)
                else JournalError(f"the journal cannot be written ({error})")
            )
        if db.in_transaction:
            db.execute("ROLLBACK")
    return None


def settle(group: list[Job[Any]]) -> None:
    for job in group:
        if job.future.done():
            continue
        if job.error is not None:
            job.future.set_exception(job.error)
        else:
            job.future.set_result(job.value)


def run_jobs(db: WrittenDatabase, group: list[Job[Any]]) -> None:
    """Run jobs in an open transaction; one that fails leaves nothing, and the others all."""
    if len(group) == 1:
        _run(db, group[0], back="ROLLBACK")
        return
    for job in group:
        db.execute("SAVEPOINT job")
        _run(db, job, back="ROLLBACK TO job")
        db.execute("RELEASE job")


def _run(db: WrittenDatabase, job: Job[Any], back: str) -> None:
    """Run a job; the statement ``back`` undoes it if it fails."""
    changes = db.total_changes()
    try:
        job.value = job.run(db)
        job.wrote = db.total_changes() > changes
    except ABORTED:
        raise  # the whole transaction was rolled back
    except Exception as error:  # noqa: BLE001 - the job's caller gets it
        job.error = error
        db.execute(back)


def pass_points(group: list[Job[Any]], side: str) -> None:
    """Pass a crash point for each function that has written."""
    for job in group:
        if job.wrote:
            failpoint(f"{job.name.lstrip('_')}:{side}")
