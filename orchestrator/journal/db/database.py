"""What the journal's queries need of a database: an open transaction, and the rows of a statement.

SQLite's connection has these members as they are. Other databases are adapted to them, so that
queries are written once.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Protocol, TypeAlias

import apsw

Value: TypeAlias = Any  # of a column, or several of them in a tuple
Values: TypeAlias = Sequence[Any] | Mapping[str, Any]  # of ``?`` and of ``:name`` in a statement


class AbortedError(Exception):
    """The database has rolled back the whole transaction, which may be run again."""


class Cursor(Protocol):
    """The rows of one statement, each a tuple of a value for each column."""

    @property
    def get(self) -> Value:
        """The only value of the only row, that row, or all rows; None without any."""

    @property
    def description(self) -> tuple[tuple[Any, ...], ...]:
        """The columns, each a tuple that begins with its name."""

    def __iter__(self) -> Iterator[Value]: ...

    def fetchone(self) -> Value: ...

    def fetchall(self) -> list[Value]: ...


class Database(Protocol):
    """A connection; queries get it with an open transaction, which their caller ends."""

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""

    def execute(self, statement: str, values: Values = (), /) -> Cursor:
        """Run one statement."""

    def executemany(self, statement: str, rows: Iterable[Values], /) -> Cursor:
        """Run a statement once for each row of values."""

    def changes(self) -> int:
        """Return how many rows the last INSERT, UPDATE or DELETE has changed."""

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
    """A connection that its caller opened, and closes."""

    def close(self) -> None: ...


def is_postgresql(db: Database) -> bool:
    """Return whether it is not SQLite's, for the few statements that the two do not share."""
    return not isinstance(db, apsw.Connection)
