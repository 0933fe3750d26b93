"""The database interface of the journal's queries: an open transaction and its rows.

SQLite's connection has these members as they are. Other databases are adapted to them, so that
queries are written once.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from types import TracebackType
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import apsw
from pydantic import TypeAdapter
from pydantic_core import ArgsKwargs

Value: TypeAlias = Any  # of a column, or several of them in a tuple
Values: TypeAlias = Sequence[Any] | Mapping[str, Any]  # of ``?`` and of ``:name`` in a statement
Question: TypeAlias = tuple[str, Sequence[Any]]  # a query and its values


class AbortedError(Exception):
    """The database has rolled back the whole transaction, which may be run again."""


# Errors that have rolled back the whole transaction.
ABORTED = (apsw.FullError, apsw.IOError, apsw.CorruptError, AbortedError)


class Cursor(Protocol):
    """The rows of one statement, each a tuple of a value for each column."""

    @property
    def get(self) -> Value:
        """The value of a single row with one column, one row, or all rows; None without any."""

    @property
    def description(self) -> tuple[tuple[Any, ...], ...]:
        """The columns, each a tuple that begins with its name."""

    def __iter__(self) -> Iterator[Value]: ...

    def fetchone(self) -> Value: ...

    def fetchall(self) -> list[Value]: ...


class Database(Protocol):
    """A connection with an open transaction, which the caller ends."""

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""

    def execute(self, statement: str, values: Values = (), /) -> Cursor:
        """Run one statement."""

    def executemany(self, statement: str, rows: Iterable[Values], /) -> Cursor:
        """Run a statement once for each row of values."""

    def changes(self) -> int:
        """Return the number of rows that the last INSERT, UPDATE or DELETE has changed."""

    def __enter__(self) -> object:
        """Begin a part of the transaction, which is rolled back if the block fails."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> bool | None: ...


class Connection(Database, Protocol):
    """A connection that its caller opened and closes."""

    def close(self) -> None: ...


def ask_ahead(db: Database, *questions: Question) -> None:
    """Announce queries that follow before anything is written: a server answers them together."""
    ask = getattr(db, "ask_ahead", None)
    if ask is not None:
        ask(questions)


def require_change(db: Database, error: Exception) -> None:
    """Raise ``error`` unless the last statement has changed one row.

    A server's answer may come later: the error is raised by a later call, before the transaction
    ends.
    """
    require = getattr(db, "require_change", None)
    if require is not None:
        require(error)
    elif db.changes() != 1:
        raise error


@contextmanager
def roll_back_on_failure(db: Database) -> Iterator[None]:
    """Roll back the block's writes if it fails, and swallow the error.

    Errors that have rolled back the whole transaction are raised.
    """
    began = False
    try:
        with db:
            began = True
            yield
    except ABORTED:
        raise
    except Exception:  # the caller repeats this work by itself and gets the error
        if not began:  # a statement before the block has failed
            raise


NUMBERED = ("turn", "web_session")  # tables whose ids are strings
T = TypeVar("T")


class Rows(Generic[T]):
    """The rows of a table or join as records of one dataclass, with values of the fields' types.

    SQLite's 0 and 1 become booleans, and the text of a `pydantic.Json` field becomes its value.
    """

    def __init__(self, record: type[T], source: str, columns: str = "") -> None:
        self._record = record
        self._query = f"SELECT {columns or ', '.join(record.__annotations__)} FROM {source} WHERE "

    @cached_property
    def _type_adapter(self) -> TypeAdapter[T]:  # made at the first query, as it takes a millisecond
        return TypeAdapter(self._record)

    def build_question(self, where: str, *values: object) -> Question:
        """Return what `select` asks, for `ask_ahead`."""
        return self._query + where, values

    def select(self, db: Database, where: str, *values: object) -> list[T]:
        """Return the matching rows; ``where`` may continue with ORDER BY and LIMIT."""
        rows = db.execute(self._query + where, values)
        return [self._type_adapter.validate_python(ArgsKwargs(row)) for row in rows]

    def find_first(self, db: Database, where: str, *values: object) -> T | None:
        return next(iter(self.select(db, where, *values)), None)


def build_distinct_query(table: str, column: str, where: str) -> str:
    """Build a query for the distinct values of ``column`` among the rows ``where``.

    It seeks from one value to the next in an index that begins with the column and has the same
    condition. SQLite's own DISTINCT reads all rows: with 10,000 of them in 100 chats that takes
    milliseconds, on every wake.
    """
    least = f"SELECT min({column}) FROM {table} WHERE {where}"
    return (
        f"WITH RECURSIVE found(value) AS ({least} UNION ALL"
        f" SELECT ({least} AND {column} > value) FROM found WHERE value IS NOT NULL)"
        " SELECT value FROM found WHERE value IS NOT NULL"
    )
