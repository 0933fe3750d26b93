"""Open the journal at the address in the settings."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from orchestrator.errors import ConfigError
from orchestrator.extras import explain_missing, format_extension_install
from orchestrator.journal.db import journal_file, sqlite_storage
from orchestrator.journal.db.database import Connection, Database
from orchestrator.journal.db.sqlite_storage import SqliteStorage
from orchestrator.journal.db.store import STORAGE_RETRY, Store
from orchestrator.journal.engine import Engine
from orchestrator.journal_address import DatabaseServer, JournalAddress


def open_store(
    address: JournalAddress,
    retry: float = STORAGE_RETRY,
    standing_by: Callable[[], None] = lambda: None,
) -> Store:
    """Open the journal for a daemon, upgrade its schema and start its writer.

    Waits while another daemon holds a journal on a database server; ``standing_by`` is called as
    the wait begins, and every ten seconds.

    Raises:
        JournalError: the journal cannot be opened, or is newer than this program.
        ConfigError: the driver for a database server is not installed.
    """
    if isinstance(address, Path):
        return Store(SqliteStorage(address), retry)
    return Store(find_engine(address).open_storage(standing_by), retry)


def open_journal(address: JournalAddress) -> Connection:
    """Open the journal for writing while no daemon holds it, and upgrade its schema.

    Raises:
        AlreadyRunningError: a daemon holds the journal on a database server. JournalError,
        ConfigError: as `open_store`.
    """
    if isinstance(address, Path):
        return sqlite_storage.open_database(address)
    return find_engine(address).open_journal()


@contextmanager
def open_for_writing(address: JournalAddress) -> Iterator[Database]:
    """Open the journal as `open_journal` does, with a transaction for the block."""
    if isinstance(address, Path):
        with closing(sqlite_storage.open_database(address)) as db:
            db.execute("BEGIN")
            yield db
            db.execute("COMMIT")
        return
    with find_engine(address).open_for_writing() as stored:
        yield stored


@contextmanager
def open_for_reading(address: JournalAddress, *, ours: bool = False) -> Iterator[Database]:
    """Read the journal, with or without a running daemon, in one state for the block.

    ``ours``: this process has it open, so its version need not be checked.

    Raises:
        JournalError: the journal is missing or cannot be read.
        ConfigError: as `open_store`.
    """
    if isinstance(address, Path):
        opened = sqlite_storage.open_without_upgrade if ours else sqlite_storage.open_for_reading
        with opened(address) as db:
            yield db
        return
    with find_engine(address).open_for_reading() as stored:
        yield stored


@contextmanager
def open_trial_state(address: JournalAddress) -> Iterator[Database]:
    """Open one state of the journal, in which the block may make private changes.

    Without a journal the state is that of a new one.

    Raises:
        JournalError, ConfigError: as `open_for_reading`.
    """
    if isinstance(address, Path):
        with sqlite_storage.open_memory_copy(address) as db:
            yield db
        return
    with find_engine(address).open_trial_state() as stored:
        yield stored


def describe_failure(address: JournalAddress) -> str | None:
    """Return why the last daemon gave up a journal's file; None if it did not."""
    return journal_file.read_failed_mark(address) if isinstance(address, Path) else None


def find_engine(server: DatabaseServer) -> Engine:
    """Return the engine for a journal on a database server.

    Raises:
        ConfigError: the engine is not installed.
    """
    from orchestrator.installed import find_installed  # noqa: PLC0415 - a file needs none of it

    for extension in find_installed().own.values():
        engine: Engine | None = extension.build_engine(server)
        if engine is not None:
            return engine
    install = format_extension_install("postgresql")
    gone = f"the extension 'postgresql' is not installed; run: {install}"
    missing = explain_missing(["psycopg"], "postgresql") or gone
    raise ConfigError(f"a journal in PostgreSQL cannot be opened, because {missing}")
