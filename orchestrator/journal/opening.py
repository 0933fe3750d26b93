"""Open the journal where the settings say that it is."""

import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path

from orchestrator.errors import ConfigError
from orchestrator.journal.db import sqlite_storage
from orchestrator.journal.db.database import Connection, Database
from orchestrator.journal.db.sqlite_storage import SqliteStorage
from orchestrator.journal.db.store import STORAGE_RETRY, Store
from orchestrator.journal_address import DatabaseServer, JournalAddress

TRIAL = 10_000  # milliseconds that a trial may be silent


def open_store(
    address: JournalAddress,
    retry: float = STORAGE_RETRY,
    standing_by: Callable[[], None] = lambda: None,
) -> Store:
    """Open the journal for a daemon, bring its schema up to date and start its writer.

    A journal in a database server that another daemon has is waited for; ``standing_by`` is called
    as the wait begins, and every ten seconds.

    Raises:
        JournalError: it cannot be opened, or is newer than this program.
        ConfigError: what connects to a database server is not installed.
    """
    if isinstance(address, Path):
        return Store(SqliteStorage(address), retry)
    require_driver()
    from orchestrator.journal.postgresql.pg_storage import PostgresStorage  # noqa: PLC0415 - optional

    return Store(PostgresStorage(address, standing_by), retry)


def open_journal(address: JournalAddress) -> Connection:
    """Open the journal to write to it while no daemon has it, and bring its schema up to date.

    Raises:
        AlreadyRunningError: a daemon has a journal in a database server.
        JournalError, ConfigError: as `open_store`.
    """
    if isinstance(address, Path):
        return sqlite_storage.open_database(address)
    require_driver()
    from orchestrator.journal.postgresql import pg_opening  # noqa: PLC0415 - optional

    return pg_opening.open_database(address)


@contextmanager
def writing(address: JournalAddress) -> Iterator[Database]:
    """Open the journal as `open_journal` does, with a transaction for the block."""
    if isinstance(address, Path):
        with closing(sqlite_storage.open_database(address)) as db:
            db.execute("BEGIN")
            yield db
            db.execute("COMMIT")
        return
    require_driver()
    from orchestrator.journal.postgresql import pg_opening  # noqa: PLC0415 - optional

    with pg_opening.writing(address) as stored:
        yield stored


@contextmanager
def beside_daemon(server: DatabaseServer) -> Iterator[Database]:
    """Open the journal of a server with a transaction for the block, also while a daemon has it.

    The block must write to no table that the daemon writes to.

    Raises:
        JournalError: it cannot be used, or is of another version.
        ConfigError: as `open_store`.
    """
    require_driver()
    from orchestrator.journal.postgresql import pg_opening  # noqa: PLC0415 - optional

    with pg_opening.beside_daemon(server) as db:
        yield db


@contextmanager
def reading(address: JournalAddress, *, ours: bool = False) -> Iterator[Database]:
    """Read the journal, with or without a running daemon, in one state for the block.

    ``ours``: this process has it open, so that the version of a file needs no look.

    Raises:
        JournalError: the journal is missing or cannot be read.
        ConfigError: as `open_store`.
    """
    if isinstance(address, Path):
        opened = sqlite_storage.reading_as_it_is if ours else sqlite_storage.reading
        with opened(address) as db:
            yield db
        return
    require_driver()
    from orchestrator.journal.postgresql import pg_opening  # noqa: PLC0415 - optional

    with pg_opening.reading(address) as db:
        yield db


@contextmanager
def trial(address: JournalAddress) -> Iterator[Database]:
    """Open one state of the journal, to which the block may write for itself alone.

    Without a journal the state is that of a new one.

    Raises:
        JournalError, ConfigError: as `reading`.
    """
    if isinstance(address, Path):
        with sqlite_storage.copied(address) as db:
            yield db
        return
    with reading(address) as db:
        # What it writes holds the daemon up, so one that is stopped midway must end.
        db.execute(f"SET LOCAL idle_in_transaction_session_timeout = {TRIAL}")
        yield db


def require_driver() -> None:
    """Find what connects to a database server.

    Raises:
        ConfigError: it is not installed.
    """
    if find_spec("psycopg") is None:
        raise ConfigError(
            "a journal in PostgreSQL needs psycopg, which is not installed; install"
            f" orchestrator-daemon[cluster], or run: {sys.executable} -m pip install"
            " 'psycopg[binary]'"
        )
