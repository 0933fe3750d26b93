"""What the page reads of a journal in PostgreSQL: by one session, which is opened once."""

import asyncio
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from typing import TypeVar

from psycopg.errors import QueryCanceled

from orchestrator.errors import JournalError, TooSlowError
from orchestrator.journal.db.database import AbortedError, Values
from orchestrator.journal.postgresql import pg_opening, pg_schema
from orchestrator.journal.postgresql.pg_connection import (
    FAILED,
    PostgresConnection,
    PostgresCursor,
    first_line,
)
from orchestrator.journal_address import DatabaseServer

NEWEST = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text"
SHOWN = "orchestrator page"  # in the server's list of sessions
T = TypeVar("T")


class PostgresPageReads:
    """Reads a database by one session that is read-only; see `PageReads`.

    Code that took over this process could make the session write all the same, with the rights of
    the daemon's user: a server takes no right away from a session for good.

    The writer notifies the session of each commit. `version` takes what has come, and must be
    called from time to time, as the server keeps what is not taken.
    """

    def __init__(self, server: DatabaseServer, longest: float) -> None:
        """Connect; the server cuts off statements after ``longest`` seconds.

        Raises:
            JournalError: the journal does not exist or cannot be read.
        """
        self.lost = asyncio.Event()
        self.failure: JournalError | None = None
        with ExitStack() as opened:
            self._db = opened.enter_context(closing(pg_opening.connected(server, _Limited)))
            try:
                pg_opening.require_version(self._db, server)
                self._version = self._begin(longest)
            except FAILED as error:
                raise pg_opening.unreadable(server, error) from error
            opened.pop_all()

    async def __call__(self, read: Callable[..., T], *args: object) -> T:
        """Return ``read(db, *args)``."""
        return self.at_once(read, *args)

    def at_once(self, read: Callable[..., T], *args: object) -> T:
        """Return ``read(db, *args)``."""
        if self.failure is not None:
            raise self.failure
        try:
            self._db.start()
            try:
                return read(self._db, *args)
            finally:
                self._db.end()
        except FAILED as error:
            self._look(error)
            if isinstance(error.__cause__, QueryCanceled):
                raise TooSlowError from error
            raise _unread(error) from error

    def version(self) -> int:
        """Return a number that changes with each commit of the daemon."""
        if self.failure is None:
            try:
                self._version += self._db.notified()
            except AbortedError as error:
                self._look(error)
        return self._version

    def close(self) -> None:
        self._db.close()

    def _begin(self, longest: float) -> int:
        """Set up the session; return the number that the first state has."""
        self._db.execute(f"SET application_name = '{SHOWN}'")
        self._db.execute("SET default_transaction_read_only = on")
        self._db.execute("SET idle_session_timeout = 0")  # whatever the server has
        self._db.execute(f"LISTEN {pg_schema.COMMITS}")
        self._db.limit(longest)
        return int(self._db.execute(NEWEST).get)

    def _look(self, error: Exception) -> None:
        """Take note if it was the end of the session."""
        if self._db.closed:
            self.failure = _unread(error)
            self.lost.set()


class _Limited(PostgresConnection):
    """A session that ends its statements, and refuses more of a read that took too long."""

    _longest = float("inf")
    _ends = float("inf")

    def limit(self, longest: float) -> None:
        self._longest = longest
        super().execute(f"SET statement_timeout = {round(longest * 1000)}")

    def start(self) -> None:
        """Begin to read one state."""
        self._ends = time.monotonic() + self._longest
        super().execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def end(self) -> None:
        """Leave the state; what follows is no part of the read, and has no limit but its own."""
        self._ends = float("inf")
        if not self.closed:
            super().execute("ROLLBACK")

    def execute(self, statement: str, values: Values = (), /) -> PostgresCursor:
        if time.monotonic() > self._ends:
            raise AbortedError from QueryCanceled()
        return super().execute(statement, values)


def _unread(error: Exception) -> JournalError:
    return JournalError(f"the journal cannot be read ({first_line(error)})")
