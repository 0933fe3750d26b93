"""The writer of the journal's file: group commit, on its own thread.

Jobs that wait when the writer is free share one ``BEGIN IMMEDIATE … COMMIT`` and so one fsync. Each
of several jobs runs in a savepoint, so that a failure rolls back only its own job. A caller gets
its result after the commit, never before.

The job in hand is noted in a small file, so that the next process knows which one this died in,
however it died: in its jobs the supervisor reads what people wrote. The file's content outlives the
process but, as it is not synced, perhaps not the machine: a power cut says nothing about a message.
A killed daemon dies in some job, too. So a job is guilty only if several processes in a row died in
it and none completed it.
"""

import asyncio
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Generic, Protocol, TypeVar

import apsw

from orchestrator import failpoints
from orchestrator.errors import ExitCode, JournalError, OrchestratorError
from orchestrator.journal.db.database import ABORTED, Database
from orchestrator.journal.migrations import MOVE_AWAY
from orchestrator.loop_bound import LoopBound, mark_journal_job

MAX_DEATHS = 3  # processes that one message may kill before it is given up
RECORD_SIZE = 512  # bytes; chats with longer names share the beginning
NOTHING = bytes(RECORD_SIZE)


class CrashRecord:
    """The current job, and the job in which the previous process died.

    ``deaths`` counts the processes in a row that died in the job ``died_in`` of ``chat``. A job
    that belongs to no chat has an empty one.
    """

    def __init__(self, path: Path) -> None:
        """Open the file; an unusable one records nothing."""
        self.deaths, self.died_in, self.chat = 0, "", ""
        self._suspected = False  # the job in hand is the one that ended the last process
        self._path = path
        self._file: int | None = None
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        with suppress(OSError):
            self._file = os.open(path, flags, mode=0o600)
            self._parse_record(
                os.pread(self._file, RECORD_SIZE, 0).rstrip(b"\0").decode(errors="replace")
            )

    @property
    def guilty_chat(self) -> str | None:
        """Return the chat whose oldest message kills the daemon, if any."""
        return self.chat if self.chat and self.deaths >= MAX_DEATHS else None

    def begin_job(self, job: str, chat: str) -> None:
        """Record a job of a chat until `end_job`."""
        self._suspected = bool(self.deaths) and (job, chat) == (self.died_in, self.chat)
        if self._file is not None:
            record = f"{self.deaths + 1 if self._suspected else 1} {job} {chat}".encode()
            with suppress(OSError):  # the disk may be full
                os.pwrite(self._file, record[:RECORD_SIZE].ljust(RECORD_SIZE, b"\0"), 0)

    def end_job(self) -> None:
        """Clear the record: the job was completed."""
        if self._file is not None:
            with suppress(OSError):
                os.pwrite(self._file, NOTHING, 0)
        if self._suspected:
            self.deaths = 0

    def remove_file(self) -> None:
        """Remove the record: the process ends cleanly."""
        self.close()
        with suppress(OSError):
            self._path.unlink(missing_ok=True)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _parse_record(self, text: str) -> None:
        deaths, _, job = text.partition(" ")
        if deaths.isascii() and deaths.isdigit():
            self.deaths = int(deaths)
            self.died_in, _, self.chat = job.partition(" ")


MAX_GROUP = 64  # most jobs that share a commit; in measurements, 32 were enough
T = TypeVar("T")


class StorageFullError(JournalError):
    """The disk is full: nothing was written, and nothing may be acknowledged."""


class StorageFailedError(OrchestratorError):
    """The disk failed during a write, so the content of the file is unknown.

    This is not a `JournalError`: a caller must not try again. The daemon has to end, as only
    opening the file anew shows what is on disk.
    """

    exit_code = ExitCode.IO


class JournalDamagedError(StorageFailedError):
    """The file has damaged pages, which more writes could hide or spread."""

    def __init__(self, problem: object) -> None:
        super().__init__(f"the journal is damaged ({problem}); restore a backup, or {MOVE_AWAY}")


class JournalTakenError(StorageFailedError):
    """Another daemon has taken the journal; this one may stand by until that one ends."""


@dataclass
class Job(Generic[T]):
    """One job: ``work(db, *args)``, and the future that gets its value after the commit.

    ``chat`` is the chat that the job is done for, or empty; ``owner`` the owner of what it writes
    (see `journal.turns.owners`), or empty if any daemon may write that.
    """

    work: Callable[..., T]
    args: tuple[object, ...]
    future: "asyncio.Future[T]"
    loop: asyncio.AbstractEventLoop
    crashes: CrashRecord
    chat: str = ""
    owner: str = ""
    value: T | None = None
    error: BaseException | None = None
    wrote: bool = False

    @property
    def name(self) -> str:
        """The name of the work, for crash points and the crash record; a partial has none."""
        return self.work.__name__

    def run(self, db: Database) -> T:
        self.crashes.begin_job(self.work.__name__, self.chat)
        try:
            if not LoopBound.is_checked:
                return self.work(db, *self.args)
            with mark_journal_job():
                return self.work(db, *self.args)
        finally:
            self.crashes.end_job()


class WrittenDatabase(Database, Protocol):
    """A database that counts what was written."""

    def total_changes(self) -> int: ...


class JobWriter(Protocol):
    """Runs jobs in order, waiting ones in one transaction; ``put`` takes a job."""

    @property
    def put(self) -> Callable[[Job[Any]], None]: ...

    def close(self) -> None:
        """Finish the queued jobs."""


class GroupCommit:
    """Commits groups of jobs to a file, until the disk fails."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        self._broken: StorageFailedError | None = None

    def commit_group(self, group: list[Job[Any]]) -> None:
        """Run a group in one transaction and give each job its value or error.

        If the commit fails, all of them fail; if the disk fails, all later ones fail, too.
        """
        db = self._db
        try:
            if self._broken is None:
                db.execute("BEGIN IMMEDIATE")
                run_jobs(db, group)
                watched = failpoints.POINTS.observer.armed
                if watched:
                    pass_points(group, "before")
                if db.in_transaction:
                    db.execute("COMMIT")
                if watched:
                    pass_points(group, "after")
        except apsw.CorruptError as error:
            self._broken = JournalDamagedError(error)
        except apsw.IOError as error:
            self._broken = StorageFailedError(
                f"the journal cannot be used any more ({error}); check the disk"
            )
        except apsw.Error as error:
            _fail_group(db, group, error)
        if self._broken is not None:
            for job in group:
                job.error = self._broken

    def send_heartbeat(self) -> None:
        """Do nothing: a file needs no heartbeat."""


class Commits(Protocol):
    """Commits groups of jobs."""

    def commit_group(self, group: list[Job[Any]]) -> None:
        """Run a group in one transaction and give each job its value or error."""

    def send_heartbeat(self) -> None:
        """Do an idle writer's work."""


class WriterThread:
    """The writer thread of an open journal; idle, it beats every ``beat`` seconds."""

    def __init__(self, commits: Commits, beat: float | None = None) -> None:
        self._commits = commits
        self._beat = beat
        self._queue: SimpleQueue[Job[Any] | None] = SimpleQueue()
        self.put: Callable[[Job[Any]], None] = self._queue.put
        self._thread = threading.Thread(target=self._serve_jobs, name="journal", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._queue.put(None)
        self._thread.join()

    def _wait_for_job(self) -> Job[Any] | None:
        while True:
            with suppress(Empty):
                return self._queue.get(timeout=self._beat)
            self._commits.send_heartbeat()

    def _serve_jobs(self) -> None:
        wait_for_job = self._queue.get if self._beat is None else self._wait_for_job
        while (job := wait_for_job()) is not None:
            group = [job]
            while len(group) < MAX_GROUP and not self._queue.empty():
                following = self._queue.get()
                if following is None:
                    self._queue.put(None)  # ends the thread after this group
                    break
                group.append(following)
            self._commits.commit_group(group)
            for loop in {done.loop for done in group}:
                with suppress(RuntimeError):  # the loop is closed, so no caller waits
                    loop.call_soon_threadsafe(
                        resolve_futures, [job for job in group if job.loop is loop]
                    )


def _fail_group(db: apsw.Connection, group: list[Job[Any]], error: apsw.Error) -> None:
    """Undo a transaction that could not be committed."""
    for job in group:
        job.error = (
            StorageFullError(f"the disk is full ({error}); free some space")
            if isinstance(error, apsw.FullError)
            else JournalError(f"the journal cannot be written ({error})")
        )
    if db.in_transaction:
        db.execute("ROLLBACK")


def resolve_futures(group: list[Job[Any]]) -> None:
    for job in group:
        if job.future.done():
            continue
        if job.error is not None:
            job.future.set_exception(job.error)
        else:
            job.future.set_result(job.value)


def run_jobs(
    db: WrittenDatabase,
    group: list[Job[Any]],
    refuse: Callable[[Job[Any]], JournalError | None] = lambda _: None,
) -> None:
    """Run jobs in an open transaction; roll back each one that fails.

    ``refuse`` returns why a job may not run, once the jobs before it have run.
    """
    alone = len(group) == 1
    for job in group:
        job.error = refuse(job)
        if job.error is not None:
            continue
        if not alone:
            db.execute("SAVEPOINT job")
        changes = db.total_changes()
        try:
            job.value = job.run(db)
            job.wrote = db.total_changes() > changes
        except ABORTED:
            raise  # the whole transaction was rolled back
        except Exception as error:  # noqa: BLE001 - the job's caller gets it
            job.error = error
            db.execute("ROLLBACK" if alone else "ROLLBACK TO job")
        if not alone:
            db.execute("RELEASE job")


def pass_points(group: list[Job[Any]], side: str) -> None:
    """Pass a crash point for each function that has written."""
    for job in group:
        if job.wrote:
            failpoints.failpoint(f"{job.name.lstrip('_')}:{side}")
