"""The journal in a PostgreSQL database, written by one daemon at a time."""

import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from itertools import count
from typing import Any

import psycopg
import structlog

from orchestrator.errors import JournalError
from orchestrator.extensions.postgresql import pg_facts
from orchestrator.extensions.postgresql.pg_connection import (
    FAILED,
    PostgresConnection,
    extract_first_line,
)
from orchestrator.extensions.postgresql.pg_reader import PostgresReader
from orchestrator.extensions.postgresql.writing_session import (
    AWAY,
    HEARTBEAT_SECONDS,
    LOOK,
    WritingSession,
)
from orchestrator.failpoints import SESSION, failpoint, watch_processes
from orchestrator.journal.db.database import AbortedError
from orchestrator.journal.db.store import FencedError
from orchestrator.journal.db.writer import (
    Commits,
    CrashRecord,
    Job,
    JobWriter,
    StorageFailedError,
    StorageFullError,
    WriterThread,
    pass_points,
    run_jobs,
)
from orchestrator.journal_address import DatabaseServer, SharingDaemon

TRIES = 3  # runs of an aborted transaction before its callers wait
UNKNOWN = 30.0  # seconds to learn the outcome of a COMMIT whose answer was lost
# Marks a transaction that has written, and returns the mark. A transaction's number would not do:
# after a crash the server may reuse it.
MARK = """UPDATE last_commit SET mark = ?, commits = commits + 1
  WHERE daemon = ? AND pg_current_xact_id_if_assigned() IS NOT NULL RETURNING mark"""
log = structlog.get_logger()


class PostgresStorage:
    """A database that only this daemon writes to, until `close` or the end of its session."""

    watch = LOOK

    def __init__(
        self,
        server: DatabaseServer,
        standing_by: Callable[[], None] = lambda: None,
        away: float = AWAY,
        session: WritingSession | None = None,
        writer: Callable[[Commits, float], JobWriter] = WriterThread,
        read: Callable[[DatabaseServer], PostgresReader] = PostgresReader,
    ) -> None:
        """Wait until no other daemon holds the journal, then open it.

        ``standing_by`` is called as the wait begins, and at least every ten seconds. A server that
        cannot be reached is tried again for ``away`` seconds.

        Raises:
            JournalError: the server cannot be reached, or its journal cannot be used.
        """
        self.address = server
        session = session or WritingSession(server)
        with ExitStack() as opened:
            opened.callback(session.close)
            self.unclean = not session.take_journal(standing_by, away)
            opened.pop_all()
        self.crashes = CrashRecord(server.file.with_name(f"{server.file.name}-job"))
        self.read = self.search = read(server)
        self.session = session
        self.writer = writer(_PostgresCommits(session), HEARTBEAT_SECONDS)
        watch_processes(SESSION, session.end_all_sessions)

    def measure_size(self) -> int:
        return self.session.size

    def clock_offset(self) -> int:
        return self.session.clock_offset

    async def list_sharing_daemons(self) -> tuple[SharingDaemon, ...]:
        return await self.read(pg_facts.list_sharing_daemons)

    def is_held(self) -> bool:
        return self.session.is_held()

    def owns(self, owner: str) -> bool:
        return self.session.owns(owner)

    def close(self, failure: StorageFailedError | None) -> None:
        self.writer.close()
        self.read.close()
        self.session.close(clean=failure is None)
        self.crashes.remove_file()


class _PostgresCommits:
    """Commits groups of jobs; runs those again that the server has aborted."""

    def __init__(self, session: WritingSession) -> None:
        self._session = session
        self._numbers = count(1)
        self._broken: StorageFailedError | None = None

    def send_heartbeat(self) -> None:
        try:
            self._session.send_heartbeat()
        except StorageFailedError as error:
            self._broken = error  # the next job is told

    def commit_group(self, group: list[Job[Any]]) -> None:
        """Run a group in one transaction and give each job its value or error."""
        if self._broken is None:
            try:
                self._commit_with_retries(group)
            except StorageFailedError as error:
                self._broken = error
        for job in group:
            job.error = self._broken or job.error

    def _commit_with_retries(self, group: list[Job[Any]]) -> None:
        failure: JournalError | None = None
        for _ in range(TRIES):
            for job in group:
                job.error, job.wrote = None, False
            try:
                self._commit_once(self._session.ensure_session(), group)
            except AbortedError as error:
                failure = StorageFullError(
                    f"the journal cannot be written ({extract_first_line(error)})"
                )
            except psycopg.Error as error:
                failure = JournalError(
                    f"the journal cannot be written ({extract_first_line(error)})"
                )
                break
            else:
                return
        for job in group:
            job.error = failure

    def _commit_once(self, db: PostgresConnection, group: list[Job[Any]]) -> None:
        if db.in_transaction:
            db.execute("ROLLBACK")  # of the try before
        db.execute("BEGIN")
        self._session.begin_transaction()
        run_jobs(db, group, self._refuse_job)
        pass_points(group, "before")
        if not db.in_transaction:  # the only job has failed
            return
        mark = f"{self._session.holder} {next(self._numbers)}"
        db.execute(MARK, (mark, self._session.daemon))
        try:
            with self._session.confirm_alive():
                db.execute("COMMIT")
        except AbortedError:
            if not any(job.wrote for job in group) or not self._is_committed(mark):
                raise
        self._session.settle_groups(db)
        pass_points(group, "after")

    def _refuse_job(self, job: Job[Any]) -> FencedError | None:
        if not job.owner or self._session.owns(job.owner):
            return None
        return FencedError(f"another node works for {job.owner!r}")

    def _is_committed(self, mark: str) -> bool:
        """Look up whether a transaction is stored whose COMMIT was not answered.

        Once this process holds the lock again, the old session can do nothing more.
        """
        log.warning("commit_unanswered", mark=mark)
        failpoint("commit_unanswered")
        ends = time.monotonic() + UNKNOWN
        while time.monotonic() < ends:
            with suppress(*FAILED):
                stored = self._session.is_last_mark(mark)
                if stored is None:
                    break
                return stored
            time.sleep(HEARTBEAT_SECONDS)
        raise StorageFailedError(
            "PostgreSQL did not confirm a transaction; this daemon ends, and the next one"
            " continues with the stored state"
        )
