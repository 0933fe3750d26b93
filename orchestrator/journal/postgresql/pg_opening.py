"""Connections of the command line and the page to a journal in PostgreSQL."""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import TypeVar

from orchestrator.errors import AlreadyRunningError, JournalError
from orchestrator.journal.db import liveness
from orchestrator.journal.postgresql import pg_schema
from orchestrator.journal.postgresql.pg_connection import FAILED, PostgresConnection, first_line
from orchestrator.journal_address import DatabaseServer

C = TypeVar("C", bound=PostgresConnection)


def open_database(server: DatabaseServer) -> PostgresConnection:
    """Open the journal to write to it; make its schema in an empty database.

    A daemon that has lost it, and comes back, does not go on with what it knows.

    Raises:
        AlreadyRunningError: a daemon has it.
        JournalError: it cannot be opened.
    """
    with ExitStack() as opened:
        db = opened.enter_context(closing(connected(server, PostgresConnection)))
        try:
            if not db.execute(pg_schema.TRY_LOCK).get:
                raise AlreadyRunningError(f"{server}: a daemon has this journal; stop it first")
            pg_schema.bring_up(db, str(server))
            db.execute("UPDATE last_commit SET mark = ''")
        except FAILED as error:
            raise unreadable(server, error) from error
        opened.pop_all()
        return db


@contextmanager
def writing(server: DatabaseServer) -> Iterator[PostgresConnection]:
    """Open the journal as `open_database` does, with a transaction for the block.

    Raises:
        AlreadyRunningError, JournalError: as `open_database`; or it is not known to be stored.
    """
    with closing(open_database(server)) as db, transaction(db, server):
        yield db


@contextmanager
def reading(server: DatabaseServer) -> Iterator[PostgresConnection]:
    """Open one state of the journal for the block; what is written to it is undone.

    Raises:
        JournalError: it cannot be read, or is of another version.
    """
    with closing(connected(server, PostgresConnection)) as db:
        try:
            require_version(db, server)
            db.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
            yield db
        except FAILED as error:
            raise unreadable(server, error) from error


@contextmanager
def beside_daemon(server: DatabaseServer) -> Iterator[PostgresConnection]:
    """Open the journal with a transaction for the block, also while a daemon has it.

    The block must write to no table that the daemon writes to.

    Raises:
        JournalError: it cannot be used, or is of another version.
    """
    with closing(connected(server, PostgresConnection)) as db:
        require_version(db, server)
        with transaction(db, server):
            yield db


def connected(server: DatabaseServer, kind: type[C]) -> C:
    """Connect.

    Raises:
        JournalError: the server cannot be reached, or refuses the user.
    """
    try:
        return kind(server.url)
    except FAILED as error:
        raise unreadable(server, error) from error


def whereabouts(server: DatabaseServer) -> tuple[int, int]:
    """Return the state of the journal (see `pg_schema.state`), and how often a daemon has begun.

    Raises:
        JournalError: it cannot be read.
    """
    with closing(connected(server, PostgresConnection)) as db:
        try:
            return pg_schema.state(db), liveness.starts(db) if pg_schema.number(db) else 0
        except FAILED as error:
            raise unreadable(server, error) from error


@contextmanager
def transaction(
    db: PostgresConnection, server: DatabaseServer, level: str = "READ COMMITTED"
) -> Iterator[None]:
    """Store what the block writes.

    Raises:
        JournalError: it is not known to be stored.
    """
    try:
        db.execute(f"BEGIN ISOLATION LEVEL {level}")
        yield
        db.execute("COMMIT")
    except FAILED as error:
        raise JournalError(
            f"{server}: it is not known to be stored ({first_line(error)}); check the server,"
            " and repeat the command"
        ) from error


def require_version(db: PostgresConnection, server: DatabaseServer) -> None:
    """Find a journal of this version.

    Raises:
        JournalError: the journal is missing, was moved away, or the server is gone.
    """
    try:
        found, newest = pg_schema.verify(db, str(server)), max(pg_schema.changes())
    except FAILED as error:
        raise unreadable(server, error) from error
    if found != newest:
        raise JournalError(
            f"{server}: the journal has schema {found or 'none'}, this version reads schema"
            f" {newest}; start the daemon of this version once"
        )


def unreadable(server: DatabaseServer, error: Exception) -> JournalError:
    """Return an error that says what to look at."""
    return JournalError(
        f"{server}: the journal cannot be read ({first_line(error)}); check the server and"
        " ORCHESTRATOR_STORE"
    )
