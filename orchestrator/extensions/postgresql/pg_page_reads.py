"""The page's reads of a journal in PostgreSQL, over a single session."""

import asyncio
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from typing import TypeVar

from psycopg.errors import QueryCanceled

from orchestrator.errors import JournalError, QueryTimeoutError
from orchestrator.extensions.postgresql import pg_opening
from orchestrator.extensions.postgresql.pg_connection import (
    FAILED,
    PostgresConnection,
    PostgresCursor,
    extract_first_line,
)
from orchestrator.journal.db.database import AbortedError, Values
from orchestrator.journal_address import DatabaseServer

COMMITS = "SELECT coalesce(sum(commits), 0) FROM last_commit"  # of all daemons
SHOWN = "orchestrator page"  # the session's name in the server's list
T = TypeVar("T")


class PostgresPageReads:
    """Reads a database over one read-only session; see `PageReads`.

    Code that took over this process could still make the session write, with the rights of the
    daemon's user: a server cannot permanently take rights from a session.
    """

    def __init__(self, server: DatabaseServer, longest: float) -> None:
        """Connect; the server cuts off statements after ``longest`` seconds.

        Raises:
            JournalError: the journal does not exist or cannot be read.
        """
        self.lost = asyncio.Event()
        self.failure: JournalError | None = None
        with ExitStack() as opened:
            self._db = opened.enter_context(
                closing(pg_opening.connect_to_server(server, _LimitedConnection))
            )
            try:
                pg_opening.require_version(self._db, server)
                self._version = self._set_up_session(longest)
            except FAILED as error:
                raise pg_opening.make_read_error(server, error) from error
            opened.pop_all()

    async def __call__(self, read: Callable[..., T], *args: object) -> T:
        """Return ``read(db, *args)``."""
        return self.read_now(read, *args)

    def read_now(self, read: Callable[..., T], *args: object) -> T:
        """Return ``read(db, *args)``."""
        if self.failure is not None:
            raise self.failure
        try:
            self._db.begin_read()
            try:
                return read(self._db, *args)
            finally:
                self._db.end_read()
        except FAILED as error:
            self._note_session_end(error)
            if isinstance(error.__cause__, QueryCanceled):
                raise QueryTimeoutError from error
            raise _make_read_error(error) from error

    def read_version(self) -> int:
        """Return a number that changes with each commit of a daemon."""
        if self.failure is None:
            try:
                self._version = int(self._db.execute(COMMITS).get)
            except AbortedError as error:
                self._note_session_end(error)
        return self._version

    def close(self) -> None:
        self._db.close()

    def _set_up_session(self, longest: float) -> int:
        """Set up the session; return the number of commits so far."""
        self._db.execute(f"SET application_name = '{SHOWN}'")
        self._db.execute("SET default_transaction_read_only = on")
        self._db.execute("SET idle_session_timeout = 0")  # whatever the server has
        self._db.set_time_limit(longest)
        return int(self._db.execute(COMMITS).get)

    def _note_session_end(self, error: Exception) -> None:
        """Record whether the error ended the session."""
        if self._db.closed:
            self.failure = _make_read_error(error)
            self.lost.set()


class _LimitedConnection(PostgresConnection):
    """A session with a limit for each read, after which it refuses more statements."""

    _longest = float("inf")
    _ends = float("inf")

    def set_time_limit(self, longest: float) -> None:
        self._longest = longest
        super().execute(f"SET statement_timeout = {round(longest * 1000)}")

    def begin_read(self) -> None:
        """Begin reading one state."""
        self._ends = time.monotonic() + self._longest
        super().execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def end_read(self) -> None:
        """End the read; later statements have their own timeout."""
        self._ends = float("inf")
        if not self.closed:
            super().execute("ROLLBACK")

    def execute(self, statement: str, values: Values = (), /) -> PostgresCursor:
        if time.monotonic() > self._ends:
            raise AbortedError from QueryCanceled()
        return super().execute(statement, values)


def _make_read_error(error: Exception) -> JournalError:
    return JournalError(f"the journal cannot be read ({extract_first_line(error)})")
