"""A session of the modelled server, in place of one of PostgreSQL."""

import re
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from orchestrator.extensions.postgresql import writing_session
from orchestrator.extensions.postgresql.pg_connection import PostgresConnection, PostgresCursor
from orchestrator.extensions.selftest.lives.lock_server import LockServer
from orchestrator.journal.db.database import AbortedError, Value, Values
from orchestrator.journal.db.dialect import SQLITE

GONE = "the session has ended"
CAST = re.compile(r"::(?:bigint|integer|text)\b")
NOTHING = ("SET ", "SELECT set_config")  # begins statements that change nothing here
Fault = Callable[["ModelledSession", str], None]


class FoundRows:
    """The rows of a statement."""

    description = (("value",),)

    def __init__(self, rows: Sequence[Value]) -> None:
        self._rows = list(rows)

    def fetchone(self) -> Value:
        return self._rows.pop(0) if self._rows else None

    def fetchall(self) -> list[Value]:
        rows, self._rows = self._rows, []
        return rows


class ModelledSession(PostgresConnection):
    """A session; ``fault`` gets each statement first, and may end the session."""

    dialect: Any = SQLITE  # as that is where the rows are

    def __init__(self, server: LockServer, fault: Fault) -> None:
        self._server = server
        self._fault = fault
        self.pid = server.begin_session()
        self._open = False  # a transaction

    @property
    def in_transaction(self) -> bool:
        return self._open and not self.closed

    @property
    def closed(self) -> bool:
        return not self._server.is_there(self.pid)

    @property
    def is_hung_up(self) -> bool:
        return self.closed

    def execute(self, statement: str, values: Values = (), /) -> PostgresCursor:
        self._fault(self, statement)
        if self.closed:
            self.end()
            raise AbortedError(GONE)
        self._server.hear(self.pid)
        if statement in ("BEGIN", "COMMIT", "ROLLBACK"):
            self._bound_transaction(statement)
            return PostgresCursor(FoundRows(()))
        return PostgresCursor(FoundRows(self._run_statement(statement, values)))

    def executemany(self, statement: str, rows: Iterable[Values], /) -> PostgresCursor:
        for values in rows:
            self.execute(statement, values)
        return PostgresCursor(FoundRows(()))

    def execute_script(self, statements: str) -> None:
        self._server.db.execute(statements)

    def changes(self) -> int:
        return self._server.db.changes()

    def total_changes(self) -> int:
        return self._server.db.total_changes()

    def close(self) -> None:
        self.end()

    def end(self, *, stored: bool = False) -> None:
        """End the session; ``stored`` says that its transaction is committed first."""
        if self._open:
            self._bound_transaction("COMMIT" if stored else "ROLLBACK")
        self._server.end_session(self.pid)

    def undo(self) -> None:
        """Undo the transaction, as the server does with one of two that wait for each other."""
        self._bound_transaction("ROLLBACK")

    def _bound_transaction(self, statement: str) -> None:
        if statement == "BEGIN":
            self._server.note_writes()
        elif statement == "COMMIT":
            self._server.check_commit(self.pid)
        self._open = statement == "BEGIN"
        self._server.db.execute(statement)

    def _run_statement(self, statement: str, values: Values) -> Sequence[Value]:
        if statement == "SHOW server_encoding":
            return [("UTF8",)]
        if statement == writing_session.NOW:
            return [(1, time.time_ns() // 1_000_000)]
        if statement == writing_session.FIRST_COMMIT:  # SQLite has no changes within a WITH
            count = "(SELECT coalesce(sum(commits), 0) + 1 FROM last_commit)"
            self._server.db.execute(f"REPLACE INTO last_commit VALUES(?, '', {count})", values)
            first = "DELETE FROM last_commit WHERE daemon <> ?"
            return self._server.db.execute(first, values).fetchall()
        if statement.startswith(NOTHING):
            return ()
        return self._server.run_for(self.pid, CAST.sub("", statement), values)
