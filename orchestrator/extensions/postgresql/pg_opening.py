"""Connections of the command line and the page to a journal in PostgreSQL."""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from typing import TypeVar

from orchestrator.errors import AlreadyRunningError, JournalError
from orchestrator.extensions.postgresql import group_locks, pg_schema
from orchestrator.extensions.postgresql.pg_connection import (
    FAILED,
    PostgresConnection,
    extract_first_line,
)
from orchestrator.extensions.postgresql.session_check import require_session_lock
from orchestrator.journal.db import liveness
from orchestrator.journal_address import DatabaseServer

C = TypeVar("C", bound=PostgresConnection)


def open_database(server: DatabaseServer) -> PostgresConnection:
    """Open the journal for writing; create its schema in an empty database.

    A daemon that lost the journal and returns does not continue with old state.

    Raises:
        AlreadyRunningError: a daemon holds the journal.
        JournalError: the journal cannot be opened.
    """
    with ExitStack() as opened:
        db = opened.enter_context(closing(connect_to_server(server, PostgresConnection)))
        try:
            require_session_lock(db, partial(PostgresConnection, server.url), str(server))
            if not db.execute(pg_schema.TRY_LOCK).get:
                raise AlreadyRunningError(f"{server}: a daemon has this journal; stop it first")
            pg_schema.upgrade_schema(db, str(server))
            group_locks.count_takeover(db, group_locks.ALL, "", "", 0)
        except FAILED as error:
            raise make_read_error(server, error) from error
        opened.pop_all()
        return db


@contextmanager
def open_for_writing(server: DatabaseServer) -> Iterator[PostgresConnection]:
    """Open the journal as `open_database` does, with a transaction for the block.

    Raises:
        AlreadyRunningError, JournalError: as `open_database`, or the outcome is unknown.
    """
    with closing(open_database(server)) as db, open_transaction(db, server):
        yield db


@contextmanager
def open_for_reading(server: DatabaseServer) -> Iterator[PostgresConnection]:
    """Open one state of the journal for the block, and roll back any writes.

    Raises:
        JournalError: the journal cannot be read, or has another version.
    """
    with closing(connect_to_server(server, PostgresConnection)) as db:
        try:
            require_version(db, server)
            db.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
            yield db
        except FAILED as error:
            raise make_read_error(server, error) from error


@contextmanager
def open_beside_daemon(server: DatabaseServer) -> Iterator[PostgresConnection]:
    """Open the journal with a transaction for the block, even while a daemon runs.

    The block must write to no table that the daemon writes to.

    Raises:
        JournalError: the journal cannot be used, or has another version.
    """
    with closing(connect_to_server(server, PostgresConnection)) as db:
        require_version(db, server)
        with open_transaction(db, server):
            yield db


def connect_to_server(server: DatabaseServer, kind: type[C]) -> C:
    """Connect.

    Raises:
        JournalError: the server cannot be reached, or refuses the user.
    """
    try:
        return kind(server.url)
    except FAILED as error:
        raise make_read_error(server, error) from error


def load_state_and_starts(server: DatabaseServer) -> tuple[int, int]:
    """Return the journal's state (see `pg_schema.load_state`), and how many daemons have started.

    Raises:
        JournalError: the journal cannot be read.
    """
    with closing(connect_to_server(server, PostgresConnection)) as db:
        try:
            return pg_schema.load_state(db), liveness.count_starts(
                db
            ) if pg_schema.load_schema_number(db) else 0
        except FAILED as error:
            raise make_read_error(server, error) from error


@contextmanager
def open_transaction(
    db: PostgresConnection, server: DatabaseServer, level: str = "READ COMMITTED"
) -> Iterator[None]:
    """Store the block's writes.

    Raises:
        JournalError: the outcome is unknown.
    """
    try:
        db.execute(f"BEGIN ISOLATION LEVEL {level}")
        yield
        db.execute("COMMIT")
    except FAILED as error:
        raise JournalError(
            f"{server}: the change may not be stored ({extract_first_line(error)});"
            " check the server, and repeat the command"
        ) from error


def require_version(db: PostgresConnection, server: DatabaseServer) -> None:
    """Require a journal of this version.

    Raises:
        JournalError: the journal is missing, was moved away, or the server is gone.
    """
    try:
        found, newest = pg_schema.verify_schema(db, str(server)), pg_schema.load_schema().number
    except FAILED as error:
        raise make_read_error(server, error) from error
    if found != newest:
        raise JournalError(
            f"{server}: the journal has schema {found or 'none'}, this version reads schema"
            f" {newest}; start the daemon of this version once"
        )


def make_read_error(server: DatabaseServer, error: Exception) -> JournalError:
    """Make an error that says what to check."""
    return JournalError(
        f"{server}: the journal cannot be read ({extract_first_line(error)}); check the server and"
        " ORCHESTRATOR_STORE"
    )
