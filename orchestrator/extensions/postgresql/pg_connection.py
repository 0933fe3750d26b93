"""A connection to PostgreSQL with the members of `Connection`."""

import re
import select
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import Any, Protocol

import psycopg
from psycopg import pq
from psycopg.abc import Buffer
from psycopg.adapt import Dumper, Loader
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.types.numeric import Int8Dumper
from psycopg.types.string import StrDumperUnknown

from orchestrator.extensions.postgresql.pg_ranking import PostgresqlDialect
from orchestrator.extensions.postgresql.statements import translate_statement
from orchestrator.journal.db.database import AbortedError, Value, Values

# Defaults for the address: give up soon on a server that does not answer.
DEFAULTS: dict[str, Any] = {
    "application_name": "orchestrator",
    "connect_timeout": 5,  # seconds
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,  # milliseconds
    "target_session_attrs": "read-write",  # of several servers the one that takes writes
}
PREPARED = 600  # statements that the server keeps planned: more than there are
AFTER = 2  # uses of a statement after which it is kept planned
NUL_SHOWN = "\u2400"  # the symbol for NUL, which stands in its place: PostgreSQL's text has no NUL
NUL_IN_JSON = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")
# The server is unreachable, or has ended the session or the transaction; retry the transaction.
REFUSED = (psycopg.OperationalError, psycopg.InterfaceError)
TOO_LARGE = "54"  # class of the errors of a statement or row that is over a limit of the server
READ_ONLY = "25006"  # the server takes no writes for now
HUNG_UP = select.POLLRDHUP | select.POLLHUP | select.POLLERR
WRITES = ("INSERT", "UPDATE", "DELETE")
FAILED = (AbortedError, psycopg.Error)  # what a session raises
ENDED = (AbortedError, *REFUSED)  # errors for which another server may be better


def extract_first_line(error: Exception) -> str:
    """Return a server's message without hints and the statement."""
    return str(error).partition("\n")[0]


class _TextDumper(StrDumperUnknown):
    """Dumps text; PostgreSQL infers the type from the context."""

    def dump(self, obj: str) -> Buffer | None:
        if "\0" in obj:
            obj = obj.replace("\0", NUL_SHOWN)
        if "\\u0000" in obj:
            obj = NUL_IN_JSON.sub(rf"\1\\u{ord(NUL_SHOWN):04x}", obj)
        return super().dump(obj)


class _BooleanDumper(Dumper):
    """Dumps booleans as 0 or 1, as every column stores them."""

    oid = Int8Dumper.oid

    def dump(self, obj: bool) -> Buffer | None:  # noqa: FBT001 - psycopg's signature
        return b"1" if obj else b"0"


class _SumLoader(Loader):
    """Loads sums as SQLite returns them: integers of any size, or floating point."""

    def load(self, data: Buffer) -> int | float:
        number = Decimal(bytes(data).decode())
        return int(number) if number == number.to_integral_value() else float(number)


class FetchedRows(Protocol):
    """The rows of one statement, as psycopg's cursors give them."""

    @property
    def description(self) -> Sequence[Sequence[Any]] | None: ...

    def fetchone(self) -> Value: ...

    def fetchall(self) -> list[Value]: ...


class PostgresCursor:
    """The rows of one statement, all fetched."""

    def __init__(self, cursor: FetchedRows) -> None:
        self._cursor = cursor

    @property
    def get(self) -> Value:
        rows = self.fetchall()
        values = [row[0] if len(row) == 1 else row for row in rows]
        return values if len(values) > 1 else values[0] if values else None

    @property
    def description(self) -> tuple[tuple[Any, ...], ...]:
        return tuple(tuple(column) for column in self._cursor.description or ())

    def __iter__(self) -> Iterator[Value]:
        return iter(self.fetchall())

    def fetchone(self) -> Value:
        return self._cursor.fetchone() if self._cursor.description else None

    def fetchall(self) -> list[Value]:
        return self._cursor.fetchall() if self._cursor.description else []


class PostgresConnection:
    """One session of a server; BEGIN and COMMIT are explicit statements.

    Raises:
        psycopg.Error: the statement is refused.
        AbortedError: the session or the transaction has ended; `closed` says which.
    """

    dialect = PostgresqlDialect()

    def __init__(self, url: str) -> None:
        """Connect; ``url`` is one of libpq's addresses.

        Raises:
            psycopg.OperationalError: the server cannot be reached, or refuses the user.
        """
        self._session = psycopg.connect(
            make_conninfo("", **DEFAULTS | conninfo_to_dict(url)),
            autocommit=True,
            cursor_factory=psycopg.RawCursor,
            prepare_threshold=AFTER,
        )
        self._session.prepared_max = PREPARED
        adapters = self._session.adapters
        adapters.register_dumper(str, _TextDumper)
        adapters.register_dumper(int, Int8Dumper)
        adapters.register_dumper(bool, _BooleanDumper)
        adapters.register_loader("numeric", _SumLoader)
        self._changes = self._total = 0

    @property
    def in_transaction(self) -> bool:
        return self._session.info.transaction_status != pq.TransactionStatus.IDLE

    @property
    def closed(self) -> bool:
        """Whether the session has ended."""
        return self._session.closed

    @property
    def is_hung_up(self) -> bool:
        """Whether the server has ended the session, before a statement notices.

        Thread-safe.
        """
        look = select.poll()
        try:
            look.register(self._session.fileno(), HUNG_UP)
        except (psycopg.OperationalError, OSError):  # closed here
            return True
        return bool(look.poll(0))

    def execute(self, statement: str, values: Values = (), /) -> PostgresCursor:
        text, order = found = translate_statement(statement)
        with self._translate_errors():
            cursor = self._session.cursor()
            cursor.execute(text, found.bind_values(values) if order else None)
        self._count_changes(cursor)
        return PostgresCursor(cursor)

    def executemany(self, statement: str, rows: Iterable[Values], /) -> PostgresCursor:
        found = translate_statement(statement)
        with self._translate_errors():
            cursor = self._session.cursor()
            cursor.executemany(found.text, [found.bind_values(values) for values in rows])
        self._count_changes(cursor)
        return PostgresCursor(cursor)

    def __enter__(self) -> None:
        self.execute("SAVEPOINT part")

    def __exit__(self, kind: object, error: BaseException | None, trace: object, /) -> None:
        if isinstance(error, AbortedError):
            return  # the transaction has ended
        if error is not None:
            self.execute("ROLLBACK TO part")
        self.execute("RELEASE part")

    def execute_script(self, statements: str) -> None:
        """Run several statements without values."""
        self._session.execute(statements.encode())

    def require_change(self, error: Exception) -> None:
        """Raise ``error`` unless the last statement has changed one row."""
        if self.changes() != 1:
            raise error

    def changes(self) -> int:
        return self._changes

    def total_changes(self) -> int:
        return self._total

    def close(self) -> None:
        self._session.close()

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Raise `AbortedError` if the transaction ends without its statement's fault."""
        try:
            yield
        except psycopg.Error as error:
            state = error.sqlstate or ""
            away = isinstance(error, REFUSED) and not state.startswith(TOO_LARGE)
            if away or self.closed or state == READ_ONLY:
                raise AbortedError(str(error)) from error
            raise

    def _count_changes(self, cursor: "psycopg.Cursor[Any]") -> None:
        status = cursor.statusmessage or ""
        if status.startswith(WRITES):
            self._changes = max(0, cursor.rowcount)
            self._total += self._changes
