"""The journal in a database of PostgreSQL, which one daemon at a time writes to."""

import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from itertools import count
from typing import Any

import psycopg
import structlog

from orchestrator.errors import JournalError
from orchestrator.failpoints import SESSION, failpoint, watch_processes
from orchestrator.journal.db.crash_record import CrashRecord
from orchestrator.journal.db.database import AbortedError
from orchestrator.journal.db.store import SharingDaemon
from orchestrator.journal.db.writer import (
    Job,
    StorageFailedError,
    StorageFullError,
    WriterThread,
    pass_points,
    run_jobs,
)
from orchestrator.journal.postgresql import pg_facts, pg_schema
from orchestrator.journal.postgresql.pg_connection import (
    FAILED,
    PostgresConnection,
    first_line,
)
from orchestrator.journal.postgresql.pg_reader import PostgresReader
from orchestrator.journal.postgresql.writing_session import (
    AWAY,
    BEAT,
    LAST_COMMIT,
    LOOK,
    WritingSession,
)
from orchestrator.journal_address import DatabaseServer

TRIES = 3  # of a transaction that the server ends, before its callers wait
UNKNOWN = 30.0  # seconds to learn what became of a COMMIT whose answer was lost
# Marks a transaction that has written, and returns the mark; those who listen learn of its commit.
# Its number would not do: after a crash the server may give it to another transaction.
MARK = f"""WITH marked AS (UPDATE last_commit SET mark = ?
  WHERE pg_current_xact_id_if_assigned() IS NOT NULL RETURNING mark)
SELECT mark, pg_notify('{pg_schema.COMMITS}', '')::text FROM marked"""
log = structlog.get_logger()


class PostgresStorage:
    """A database that this daemon alone writes to, until `close` or the end of its session."""

    checked = True  # the server looks after its files
    watch = LOOK

    def __init__(
        self,
        server: DatabaseServer,
        standing_by: Callable[[], None] = lambda: None,
        away: float = AWAY,
    ) -> None:
        """Wait until no other daemon has the journal, then open it.

        ``standing_by`` is called as the wait begins, and at least every ten seconds. A server that
        cannot be reached is tried again for ``away`` seconds.

        Raises:
            JournalError: the server cannot be reached, or its journal cannot be used.
        """
        self.address = server
        session = WritingSession(server)
        with ExitStack() as opened:
            opened.callback(session.close)
            self.unclean = not session.take(standing_by, away)
            opened.pop_all()
        self.crashes = CrashRecord(server.file.with_name(f"{server.file.name}-job"))
        self.read = PostgresReader(server)
        self._session = session
        self.writer = WriterThread(_PostgresCommits(session), BEAT)
        watch_processes(SESSION, session.cut_off)

    def size(self) -> int:
        return self._session.size

    def clock_offset(self) -> int:
        return self._session.clock_offset

    async def sharing(self) -> tuple[SharingDaemon, ...]:
        return await self.read(pg_facts.sharing)

    def held(self) -> bool:
        return self._session.held()

    def close(self, *, failed: bool) -> None:
        self.writer.close()
        self.read.close()
        self._session.close(clean=not failed)
        self.crashes.remove()


class _PostgresCommits:
    """Commits groups of jobs; one that the server has ended is run again."""

    def __init__(self, session: WritingSession) -> None:
        self._session = session
        self._numbers = count(1)
        self._broken: StorageFailedError | None = None

    def beat(self) -> None:
        try:
            self._session.beat()
        except StorageFailedError as error:
            self._broken = error  # the next job is told

    def commit(self, group: list[Job[Any]]) -> None:
        """Run a group in one transaction and give each job its value or error."""
        if self._broken is None:
            try:
                self._commit(group)
            except StorageFailedError as error:
                self._broken = error
        for job in group:
            job.error = self._broken or job.error

    def _commit(self, group: list[Job[Any]]) -> None:
        failure: JournalError | None = None
        for _ in range(TRIES):
            for job in group:
                job.error, job.wrote = None, False
            try:
                self._once(self._session.db(), group)
            except AbortedError as error:
                failure = StorageFullError(f"the journal cannot be written ({first_line(error)})")
            except psycopg.Error as error:
                failure = JournalError(f"the journal cannot be written ({first_line(error)})")
                break
            else:
                return
        for job in group:
            job.error = failure

    def _once(self, db: PostgresConnection, group: list[Job[Any]]) -> None:
        if db.in_transaction:
            db.execute("ROLLBACK")  # of the try before
        db.execute("BEGIN")
        run_jobs(db, group)
        pass_points(group, "before")
        if not db.in_transaction:  # the only job has failed
            return
        mark = f"{self._session.holder} {next(self._numbers)}"
        wrote = db.execute(MARK, (mark,)).get
        if wrote:
            self._session.sent = mark
        try:
            with self._session.living():
                db.execute("COMMIT")
        except AbortedError:
            if not wrote or not self._committed(mark):
                raise
        if wrote:
            self._session.stored = mark
        pass_points(group, "after")

    def _committed(self, mark: str) -> bool:
        """Look up whether a transaction is stored whose COMMIT was not answered.

        Who has the lock again knows that the session before has done all that it will.
        """
        log.warning("commit_unanswered", mark=mark)
        failpoint("commit_unanswered")
        ends = time.monotonic() + UNKNOWN
        while time.monotonic() < ends:
            with suppress(*FAILED):
                return bool(self._session.db().execute(LAST_COMMIT).get == mark)
            time.sleep(BEAT)
        raise StorageFailedError(
            "PostgreSQL did not say whether it has stored a transaction; this daemon ends, and the"
            " next one goes on with what is stored"
        )
