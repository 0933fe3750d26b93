"""A session of the modelled server, in place of one of PostgreSQL."""

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import orjson

from orchestrator.extensions.postgresql import group_locks, writing_session
from orchestrator.extensions.postgresql.nodes import sharing_state
from orchestrator.extensions.postgresql.pg_connection import PostgresConnection, PostgresCursor
from orchestrator.extensions.postgresql.pg_storage import MARK
from orchestrator.extensions.selftest.lives.lock_server import Key, LockServer
from orchestrator.journal.db.database import AbortedError, Value, Values
from orchestrator.journal.db.dialect import SQLITE

GONE = "the session has ended"
ADVISORY = re.compile(
    r"SELECT pg_(?P<how>try_advisory_lock|advisory_lock|advisory_unlock)(?P<shared>_shared)?"
    r"\((?P<key>[^)]*(?:\([^)]*\))?[^)]*)\)"
)
NUMBER = re.compile(r"\?|\d+")
ALL = "SELECT pg_advisory_unlock_all()"
LIKE_SQLITE = re.compile(r"::(?:bigint|integer|text)\b")
Fault = Callable[["ModelledSession", str], None]


class FoundRows:
    """The rows of a statement."""

    def __init__(self, rows: Sequence[Sequence[Any]]) -> None:
        self._rows = list(rows)
        self.description = (("value",),)

    def fetchone(self) -> Value:
        return self._rows.pop(0) if self._rows else None

    def fetchall(self) -> list[Value]:
        rows, self._rows = self._rows, []
        return rows


class ModelledSession(PostgresConnection):
    """A session; ``fault`` is told of each statement first, and may end the session."""

    dialect = SQLITE  # type: ignore[assignment] - the rows are in SQLite

    def __init__(self, server: LockServer, fault: Fault) -> None:
        self._server = server
        self._fault = fault
        self.pid = server.begin_session()
        self._open = False  # a transaction
        self._total = server.db.total_changes()
        self._before = 0
        self._answers: Mapping[str, Callable[[Sequence[Any]], Sequence[Sequence[Any]]]] = {
            "SHOW server_encoding": lambda _: [("UTF8",)],
            "SELECT to_regclass('schema_version')": lambda _: [("schema_version",)],
            "SELECT pg_backend_pid()": lambda _: [(self.pid,)],
            writing_session.NOW: lambda _: [(1, time.time_ns() // 1_000_000)],
            writing_session.HOLDER: lambda _: [(self.pid, "start")],
            writing_session.END: self._end_other,
            writing_session.FIRST_COMMIT: self._note_first_commit,
            group_locks.TRY_LOCKS: self._try_locks,
            sharing_state.HELD: lambda values: server.list_locks(*values),
            MARK: self._mark_commit,
            ALL: self._unlock_all,
        }

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
        return PostgresCursor(FoundRows(self._answer(statement, values)))

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
            self._before = self.total_changes()
        elif statement == "COMMIT":
            self._server.check_commit(self.pid)
        self._open = statement == "BEGIN"
        self._server.db.execute(statement)

    def _answer(self, statement: str, values: Values) -> Sequence[Sequence[Any]]:
        given = values if isinstance(values, Sequence) else ()
        if statement in self._answers:
            return self._answers[statement](given)
        found = ADVISORY.fullmatch(statement)
        if found is not None:
            return [(self._lock(found, given),)]
        if statement.startswith(("SET ", "SELECT set_config")):
            return ()
        return self._server.db.execute(LIKE_SQLITE.sub("", statement), values).fetchall()

    def _lock(self, found: re.Match[str], values: Sequence[Any]) -> bool:
        left = list(values)
        key: Key = tuple(
            int(left.pop(0) if part == "?" else part)
            for part in NUMBER.findall(found["key"].replace("AS INTEGER", ""))
        )
        if found["how"] == "advisory_unlock":
            return self._server.unlock(self.pid, key)
        locked = self._server.try_lock(self.pid, key, shared=bool(found["shared"]))
        if not locked and found["how"] == "advisory_lock":
            raise AssertionError(f"{found[0]} would wait")
        return locked

    def _try_locks(self, values: Sequence[Any]) -> Sequence[Sequence[Any]]:
        groups = orjson.loads(values[0])
        keys = [(group, (group_locks.LOCKS, group)) for group in groups]
        return [(g,) for g, key in keys if self._server.try_lock(self.pid, key, shared=False)]

    def _unlock_all(self, _: Sequence[Any]) -> Sequence[Sequence[Any]]:
        self._server.end_session(self.pid)
        self._server.hear(self.pid)
        return ()

    def _end_other(self, values: Sequence[Any]) -> Sequence[Sequence[Any]]:
        return [(True,)] if self._server.end_session(int(values[0])) else ()

    def _note_first_commit(self, values: Sequence[Any]) -> Sequence[Sequence[Any]]:
        db = self._server.db
        count = int(db.execute("SELECT coalesce(sum(commits), 0) FROM last_commit").get or 0)
        db.execute("DELETE FROM last_commit")
        db.execute("INSERT INTO last_commit VALUES(?, '', ?)", (values[0], count + 1))
        return ()

    def _mark_commit(self, values: Sequence[Any]) -> Sequence[Sequence[Any]]:
        if self.total_changes() == self._before:
            return ()
        update = MARK.replace("pg_current_xact_id_if_assigned()", "1")
        return self._server.db.execute(update, values).fetchall()
