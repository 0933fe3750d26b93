"""Changes of a journal in PostgreSQL that a test can count, and the end of its sessions."""

from importlib import import_module

from orchestrator.journal.db.database import Database
from orchestrator.journal_address import DatabaseServer

END_ALL = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


def end_sessions(server: DatabaseServer) -> None:
    """What a restart of the server does to all who are connected."""
    with import_module("psycopg").connect(server.url, autocommit=True) as session:
        session.execute(END_ALL)


def put(db: Database, key: str) -> str:
    """A change."""
    db.execute("INSERT INTO meta VALUES(?, 'x')", (key,))
    return key


def keys(db: Database) -> list[str]:
    """What `put` has stored."""
    return [str(key) for (key,) in db.execute("SELECT k FROM meta ORDER BY k")]
