"""A connection to PostgreSQL that sends a job's statements without waiting for each answer.

The statements of a transaction are sent and answered together: at the first result that is looked
at, at the end of a part, and at COMMIT. A wait costs a turn of the scheduler in both processes,
which is more than most statements take.
"""

import select
from collections import OrderedDict, deque
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple, NoReturn, Protocol

import psycopg
from psycopg import pq
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import error_from_result
from psycopg.pq.abc import PGresult

from orchestrator.extensions.postgresql.pg_connection import (
    PREPARED,
    WRITES,
    PostgresConnection,
    PostgresCursor,
)
from orchestrator.extensions.postgresql.statements import translate_statement
from orchestrator.journal.db.database import AbortedError, Question, Value, Values

MAX_PENDING = 256  # statements that wait for answers, as both are kept in memory
MARKS = ("BEGIN", "SAVEPOINT", "RELEASE")  # statements that fail only if another one has failed
QUERIES = ("SELECT", "WITH", *WRITES)  # statements that the server keeps planned
WRITTEN = tuple(kind.encode() for kind in WRITES)
REFUSALS = (pq.ExecStatus.FATAL_ERROR, pq.ExecStatus.PIPELINE_ABORTED)
# Planned once for any values: planning again takes longer than most statements do.
GENERIC_PLANS = b"SET plan_cache_mode = force_generic_plan"


class _Plan(NamedTuple):
    """A plan that the server keeps; ``types`` are those of the values, 0 if they are inferred."""

    name: bytes
    types: tuple[int, ...]


class _Pending(Protocol):
    """Something sent that gets an answer."""

    def take(self, result: PGresult | None, error: psycopg.Error | None) -> None:
        """Take the result, or the error without one."""


class _Answer:
    """The answer to a statement, which is waited for when it is looked at."""

    def __init__(self, db: "PipelinedConnection", *, adds: bool = False) -> None:
        """Make one; the rows that it has changed are those since one that does not ``adds``."""
        self._db = db
        self._adds = adds
        self.required: Exception | None = None  # raised unless it has changed one row
        self._result: PGresult | None = None
        self._error: psycopg.Error | None = None
        self._rows: list[Value] | None = None

    def take(self, result: PGresult | None, error: psycopg.Error | None) -> None:
        self._result, self._error = result, error
        if result is not None:
            self._db.count_changes(result, adds=self._adds)
            if self.required is not None and result.command_tuples != 1:
                self._db.unmet = self._db.unmet or self.required

    @property
    def description(self) -> list[tuple[str]]:
        result = self._wait_for_result()
        return [((result.fname(place) or b"").decode(),) for place in range(result.nfields)]

    def fetchall(self) -> list[Value]:
        rows, self._rows = self._load_rows(), []
        return rows

    def fetchone(self) -> Value:
        rows = self._load_rows()
        return rows.pop(0) if rows else None

    def _load_rows(self) -> list[Value]:
        if self._rows is None:
            self._rows = self._db.load_rows(self._wait_for_result())
        return self._rows

    def _wait_for_result(self) -> PGresult:
        if self._result is None and self._error is None:
            self._db.settle()
        return self._result or self._db.refuse(self._error)


class _Preparation:
    """A plan that the server is asked to keep; behind a failed statement it skips that."""

    def __init__(self, plans: OrderedDict[str, _Plan], text: str, plan: _Plan) -> None:
        self._plans = plans
        self._text = text
        self._plan = plan

    def take(self, result: PGresult | None, error: psycopg.Error | None) -> None:
        del error
        if result is None and self._plans.get(self._text) is self._plan:
            del self._plans[self._text]


class _Removal:
    """A plan that the server is asked to drop; one that it skips ends with the session."""

    def take(self, result: PGresult | None, error: psycopg.Error | None) -> None:
        del result, error


class PipelinedConnection(PostgresConnection):
    """A session whose statements are answered together, inside a transaction.

    An error is raised by the first call after its statement that waits for answers. ``waits``
    counts how often this session waited.
    """

    def __init__(self, url: str) -> None:
        """Connect; ``url`` is one of libpq's addresses.

        Raises:
            psycopg.OperationalError: the server cannot be reached, or refuses the user.
        """
        super().__init__(url)
        self.waits = 0
        self._plans: OrderedDict[str, _Plan] = OrderedDict()  # the one used last is at the end
        self._planned = 0
        self._pending: deque[_Pending | None] = deque()  # None: the server forgets errors there
        self._asked: dict[tuple[object, ...], PostgresCursor] = {}  # by statement and values
        self.unmet: Exception | None = None  # of a statement that has changed no row
        self._is_working = False  # a pending statement can fail by itself
        self._is_open = False  # a transaction is open once the pending statements are done
        self._transformer = Transformer(self._session)
        self._pg = self._session.pgconn
        self._pg.enter_pipeline_mode()
        self._pg.send_query_params(GENERIC_PLANS, None)
        self._pending.append(_Answer(self))
        self._send_sync()  # or the end of the first transaction could take the setting back
        self._readable, self._ready = select.poll(), select.poll()
        self._readable.register(self._pg.socket, select.POLLIN)
        self._ready.register(self._pg.socket, select.POLLIN | select.POLLOUT)

    @property
    def in_transaction(self) -> bool:
        return self._is_open if self._pending else super().in_transaction

    def execute(self, statement: str, values: Values = (), /) -> PostgresCursor:
        if self._asked and not statement.startswith(MARKS):
            asked = self._asked.pop((statement, *values), None)
            if asked is not None:
                return asked
            if not statement.startswith("SELECT"):  # it may change the answers
                self._asked.clear()
        return self._execute(statement, values)

    def ask_ahead(self, questions: Iterable[Question]) -> None:
        """Send queries; `execute` with the same statement and values returns the answer.

        An answer is forgotten once something is written.
        """
        if self._is_open:
            asked = [(each, self._execute(*each)) for each in questions]
            self._asked |= {(statement, *values): cursor for (statement, values), cursor in asked}

    def require_change(self, error: Exception) -> None:
        """Raise ``error`` with the next answer unless the last statement has changed one row."""
        last = self._pending[-1] if self._pending else None
        if isinstance(last, _Answer):
            last.required = error
        else:
            super().require_change(error)

    def _execute(
        self, statement: str, values: Values = (), *, adds: bool = False
    ) -> PostgresCursor:
        if statement.startswith("ROLLBACK"):
            with suppress(Exception):  # errors of what is undone
                self.settle()
        elif len(self._pending) >= MAX_PENDING:
            self.settle()
        answer = _Answer(self, adds=adds)
        with self._translate_errors():
            if statement.startswith(QUERIES):
                self._send_query(statement, values)
            else:
                self._pg.send_query_params(statement.encode(), None)
        self._pending.append(answer)
        self._follow_transaction(statement)
        return PostgresCursor(answer)

    def executemany(self, statement: str, rows: Iterable[Values], /) -> PostgresCursor:
        cursor = None
        self._asked.clear()
        for values in rows:
            cursor = self._execute(statement, values, adds=cursor is not None)
        return cursor or self.execute("SELECT WHERE false")

    def __enter__(self) -> None:
        self._settle_work()  # an earlier error is not of this part
        super().__enter__()

    def __exit__(self, kind: object, error: BaseException | None, trace: object, /) -> None:
        try:
            if error is None:
                self._settle_work()
        except AbortedError:
            raise
        except Exception as late:
            super().__exit__(type(late), late, None)
            raise
        super().__exit__(kind, error, trace)

    def execute_script(self, statements: str) -> None:
        self.settle()
        self._pg.exit_pipeline_mode()
        super().execute_script(statements)
        self._pg.enter_pipeline_mode()

    def changes(self) -> int:
        self._settle_work()
        return super().changes()

    def total_changes(self) -> int:
        self._settle_work()
        return super().total_changes()

    def settle(self) -> None:
        """Wait for all answers.

        Raises:
            psycopg.Error: a statement is refused; those behind it were skipped.
            AbortedError: the session or the transaction has ended.
            Exception: given to `require_change`.
        """
        if self._pending:
            self.waits += 1
            self._is_working = False
            with self._translate_errors():
                self._send_sync()
                failure = self._receive_answers()
                unmet, self.unmet = self.unmet, None
                if failure is not None and (unmet is None or self.closed):
                    raise failure
            if unmet is not None:
                raise unmet

    def load_rows(self, result: PGresult) -> list[Value]:
        """Return the rows of a result."""
        if not result.nfields:
            return []
        self._transformer.set_pgresult(result)
        return list(self._transformer.load_rows(0, result.ntuples, tuple))

    def count_changes(self, result: PGresult, *, adds: bool) -> None:
        """Count the rows that a statement has written."""
        if (result.command_status or b"").startswith(WRITTEN):
            more = result.command_tuples or 0
            self._changes = self._changes + more if adds else more
            self._total += more

    def refuse(self, error: psycopg.Error | None) -> NoReturn:
        """Raise the error of a statement, as `settle` does."""
        with self._translate_errors():
            raise error or psycopg.InterfaceError("the statement has no answer")

    def _send_query(self, statement: str, values: Values) -> None:
        """Send a statement by the name of its plan, which is made at the first use."""
        text, order = found = translate_statement(statement)
        bound = found.bind_values(values) if order else ()
        dumped = self._transformer.dump_sequence(bound, [PyFormat.AUTO] * len(bound))
        types, formats = self._transformer.types or (), self._transformer.formats
        if not self._is_open:  # few statements, of which a session behind a pooler keeps none
            self._pg.send_query_params(text.encode(), dumped, types, formats)
            return
        plan = self._plans.get(text)
        if plan is None:
            plan = self._prepare(text, types)
        elif plan.types != types and _differ(plan.types, types, bound):
            del self._plans[text]
            self._drop(plan)
            plan = self._prepare(text, types)
        else:
            self._plans.move_to_end(text)
        self._pg.send_query_prepared(plan.name, dumped, formats)

    def _prepare(self, text: str, types: tuple[int, ...]) -> _Plan:
        if len(self._plans) >= PREPARED:
            self._drop(self._plans.popitem(last=False)[1])
        self._planned += 1
        plan = self._plans[text] = _Plan(b"plan%d" % self._planned, types)
        self._pg.send_prepare(plan.name, text.encode(), types)
        self._pending.append(_Preparation(self._plans, text, plan))
        return plan

    def _drop(self, plan: _Plan) -> None:
        self._pg.send_query_params(b"DEALLOCATE " + plan.name, None)
        self._pending.append(_Removal())

    def _follow_transaction(self, statement: str) -> None:
        """Track whether a transaction is open; wait if the statement cannot ride with others."""
        if statement.startswith(MARKS):
            self._is_open = True
        elif not statement.startswith("ROLLBACK"):
            ends = statement == "COMMIT"
            self._is_working = True
            self._is_open = self._is_open and not ends
            if not (self._is_open and statement.startswith(QUERIES)):
                self.settle()
        elif statement == "ROLLBACK":
            self._is_open = False
            with self._translate_errors():
                self._send_sync()  # it is answered later, as nothing depends on it

    def _settle_work(self) -> None:
        if self._is_working:
            self.settle()

    def _send_sync(self) -> None:
        self._pg.pipeline_sync()
        self._pending.append(None)

    def _receive_answers(self) -> psycopg.Error | None:
        """Give out all answers, and return the first error."""
        failure: psycopg.Error | None = None
        try:
            while self._pg.flush():  # answers may have to be read before more can be sent
                self._ready.poll()
                self._pg.consume_input()
            while self._pending:
                result = self._receive_result()
                pending = self._pending.popleft()
                if pending is None:
                    continue
                if result is not None:
                    self._receive_result()  # the end of this answer
                if result is None or result.status in REFUSALS:
                    failure = failure or _make_error(result)
                    pending.take(None, failure)
                else:
                    pending.take(result, None)
        except psycopg.OperationalError as lost:
            failure = failure or lost
        for left in self._pending:
            if left is not None:
                left.take(None, failure)
        self._pending.clear()
        return failure

    def _receive_result(self) -> PGresult | None:
        """Return the next result; None ends the results of a statement."""
        while self._pg.is_busy():  # `get_result` would wait with all other threads
            self._readable.poll()
            self._pg.consume_input()
        return self._pg.get_result()


def _differ(known: tuple[int, ...], types: tuple[int, ...], values: tuple[Value, ...]) -> bool:
    """Return whether values have other types than a plan's; NULL is of any type."""
    return any(
        ours != theirs and value is not None
        for ours, theirs, value in zip(known, types, values, strict=True)
    )


def _make_error(result: PGresult | None) -> psycopg.Error:
    if result is None:
        return psycopg.InterfaceError("the server did not answer a statement")
    return error_from_result(result, "utf-8")
