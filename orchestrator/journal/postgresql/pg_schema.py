"""The schema of the journal in PostgreSQL as changes, with the numbers of those for SQLite."""

from collections.abc import Mapping
from pathlib import Path

import psycopg

from orchestrator.errors import JournalError
from orchestrator.journal import migrations
from orchestrator.journal.postgresql.pg_connection import PostgresConnection

LOCK = 0x6F7263685F6A6F75  # of the daemon that has the journal: "orch_jou"
TRY_LOCK = f"SELECT pg_try_advisory_lock({LOCK})"
WAIT_FOR_LOCK = f"SELECT pg_advisory_lock({LOCK})"
COMMITS = "orchestrator_commits"  # channel on which the writer tells of its commits
# The configuration that all machines share; with a journal in a file there is one machine.
SHARED = """
CREATE TABLE config_version(
  number bigint PRIMARY KEY, digest text NOT NULL, pushed_at bigint NOT NULL, host text NOT NULL
);
CREATE TABLE config_file(
  version bigint NOT NULL REFERENCES config_version, name text NOT NULL,
  executable bigint NOT NULL, data bytea NOT NULL, PRIMARY KEY(version, name)
);
"""
IN_USE, LEFT, ARRIVING = range(3)  # of the column schema_version.moved
EXTENSIONS = ("pg_trgm", "unaccent")  # parts of PostgreSQL; the owner of a database may add them


def changes() -> dict[int, str]:
    """Return the SQL of every change by its number; the first one makes all tables."""
    return migrations.scripts(Path(__file__).with_name("changes"))


def bring_up(db: PostgresConnection, shown: str, known: Mapping[int, str] | None = None) -> None:
    """Make the changes that a database lacks, all in one transaction.

    ``known`` are the changes by number, without gaps (default: `changes`).

    Raises:
        JournalError: as `verify`; or another program's tables are there.
        psycopg.Error: the server refuses it.
    """
    known = known or changes()
    found, newest = verify(db, shown, known), max(known)
    if found == newest:
        return
    db.execute("BEGIN")
    if not found:
        _begin(db, shown)
    for change in range(found + 1 if found else min(known), newest + 1):
        db.execute_script(known[change])
    db.execute("UPDATE schema_version SET number = ?", (newest,))
    db.execute("COMMIT")


def verify(db: PostgresConnection, shown: str, known: Mapping[int, str] | None = None) -> int:
    """Return the schema number of a journal, or 0 without one; ``shown`` names it in errors.

    Raises:
        JournalError: it is of a newer version, was moved away, or cannot hold all characters.
    """
    if db.execute("SHOW server_encoding").get != "UTF8":
        raise JournalError(f"{shown}: the encoding of the database must be UTF8")
    found, newest = number(db), max(known or changes())
    if found > newest:
        raise JournalError(
            f"{shown}: the journal has schema {found}, this version reads schemas up to {newest};"
            " run the version that wrote it, or restore an older backup"
        )
    found_state = state(db)
    if found_state == LEFT:
        raise JournalError(
            f"{shown}: this journal was moved back to a file; unset ORCHESTRATOR_STORE, or use an"
            " empty database"
        )
    if found_state == ARRIVING:
        raise JournalError(
            f"{shown}: moving a journal there was interrupted; go back to its file, with"
            " orchestrator migrate --back, and then move it to an empty database"
        )
    return found


def number(db: PostgresConnection) -> int:
    """Return the number of the schema, 0 if the database has no journal."""
    if db.execute("SELECT to_regclass('schema_version')").get is None:
        return 0
    return int(db.execute("SELECT number FROM schema_version").get)


def _begin(db: PostgresConnection, shown: str) -> None:
    """Make what no other store has, in an empty database."""
    if db.execute("SELECT to_regclass('turn') IS NOT NULL OR to_regclass('meta') IS NOT NULL").get:
        raise JournalError(f"{shown}: another program has tables there; use an empty database")
    try:
        for name in EXTENSIONS:
            db.execute(f"CREATE EXTENSION IF NOT EXISTS {name}")
    except psycopg.Error as error:
        raise JournalError(
            f"{shown}: the journal needs the extensions {' and '.join(EXTENSIONS)}; let the owner"
            f" of the database run: {'; '.join(f'CREATE EXTENSION {name}' for name in EXTENSIONS)}"
        ) from error
    db.execute("CREATE TABLE schema_version(number bigint NOT NULL, moved bigint NOT NULL)")
    db.execute("INSERT INTO schema_version VALUES(0, 0)")
    db.execute("CREATE TABLE last_commit(mark text NOT NULL)")
    db.execute("INSERT INTO last_commit VALUES('')")
    db.execute_script(SHARED)


def count_on(db: PostgresConnection) -> None:
    """Let ids go on behind those that a copy has brought."""
    columns = db.execute(
        "SELECT table_name, column_name FROM information_schema.columns"
        " WHERE table_schema = current_schema() AND identity_generation = 'BY DEFAULT'"
    )
    for table, column in columns:
        db.execute(
            f"SELECT setval(pg_get_serial_sequence('{table}', '{column}'),"
            f" (SELECT coalesce(max({column}), 0) + 1 FROM {table}), false)"
        )


def await_move(db: PostgresConnection) -> None:
    """Let no daemon use the journal yet: the one in a file counts until `arrive`."""
    _set_state(db, ARRIVING)


def arrive(db: PostgresConnection) -> None:
    """Let daemons use the journal."""
    _set_state(db, IN_USE)


def leave(db: PostgresConnection) -> None:
    """Let no daemon use the journal any more: it was moved to a file."""
    _set_state(db, LEFT)


def state(db: PostgresConnection) -> int:
    """Return whether the journal is `IN_USE`, `LEFT` or `ARRIVING`; none is made to be used."""
    return int(db.execute("SELECT moved FROM schema_version").get) if number(db) else IN_USE


def _set_state(db: PostgresConnection, new: int) -> None:
    db.execute("UPDATE schema_version SET moved = ?", (new,))
