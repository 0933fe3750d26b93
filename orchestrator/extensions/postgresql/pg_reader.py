"""Reads of a journal in PostgreSQL, each in its own snapshot."""

from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Lock
from typing import TypeVar

import anyio
import psycopg
import structlog
from anyio import to_thread

from orchestrator.errors import JournalError
from orchestrator.extensions.postgresql.pg_connection import ENDED, extract_first_line
from orchestrator.extensions.postgresql.pipelined_connection import PipelinedConnection
from orchestrator.journal.db.database import AbortedError
from orchestrator.journal_address import DatabaseServer
from orchestrator.loop_bound import mark_journal_job

READERS = 3  # sessions that read
AWAY = 0.75  # seconds between two tries while the server is away
T = TypeVar("T")
log = structlog.get_logger()


class PostgresReader:
    """Reads on other threads, over its own sessions."""

    def __init__(self, server: DatabaseServer) -> None:
        self._server = server
        self._limit = anyio.CapacityLimiter(READERS)
        self._idle: SimpleQueue[PipelinedConnection] = SimpleQueue()
        self._giving_back = Lock()
        self._closed = False
        self._away = False

    async def __call__(self, work: Callable[..., T], *args: object) -> T:
        while True:
            try:
                # The server may delay the read: a caller that stops waiting abandons it.
                value = await to_thread.run_sync(
                    self._read_by_any_session,
                    work,
                    args,
                    limiter=self._limit,
                    abandon_on_cancel=True,
                )
            except ENDED as error:
                if not self._away:
                    log.error(
                        "journal_failed", problem=f"it cannot be read ({extract_first_line(error)})"
                    )
                self._away = True
                await anyio.sleep(AWAY)
            else:
                self._away = False
                return value

    def _read_by_any_session(self, work: Callable[..., T], args: tuple[object, ...]) -> T:
        try:
            with suppress(Empty):
                while True:  # an idle session may have ended, and a read may be done again
                    db = self._idle.get_nowait()
                    try:
                        return self._read_by_session(db, work, args)
                    except AbortedError:
                        if not db.closed:
                            raise
            return self._read_by_session(PipelinedConnection(self._server.url), work, args)
        except ENDED:
            raise
        except psycopg.Error as error:
            raise JournalError(
                f"the journal cannot be read ({extract_first_line(error)})"
            ) from error

    def _read_by_session(
        self, db: PipelinedConnection, work: Callable[..., T], args: tuple[object, ...]
    ) -> T:
        try:
            db.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            with mark_journal_job():
                return work(db, *args)
        finally:
            with suppress(AbortedError):
                if not db.closed:
                    db.execute("ROLLBACK")
            self._give_back_session(db)

    def close(self) -> None:
        with self._giving_back, suppress(Empty):
            self._closed = True
            while True:
                self._idle.get_nowait().close()

    def _give_back_session(self, db: PipelinedConnection) -> None:
        """Keep a session for the next read; an abandoned read may return late."""
        with self._giving_back:
            if self._closed or self._idle.qsize() >= READERS:
                db.close()
            elif not db.closed:
                self._idle.put(db)
