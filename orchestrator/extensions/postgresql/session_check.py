"""Whether a session's lock locks: behind some poolers, and with some servers, it does not."""

from collections.abc import Callable
from contextlib import closing, suppress

from psycopg.errors import DuplicatePreparedStatement, InvalidSqlStatementName

from orchestrator.errors import JournalError
from orchestrator.extensions.postgresql.pg_connection import PostgresConnection

KIND = 0x6F726363  # of the locks taken here: "orcc"; the other half of their name is a session
PROCESS = "SELECT pg_backend_pid()"
TRY = f"SELECT pg_try_advisory_lock({KIND}, CAST(? AS INTEGER))"
RELEASE = f"SELECT pg_advisory_unlock({KIND}, CAST(? AS INTEGER))"
LOOKS = 2  # in turn, a pooler gives a statement to each of its sessions
MIXED_UP = (DuplicatePreparedStatement, InvalidSqlStatementName)  # of another connection's plans
POOLED = (
    "the statements of one connection reach several sessions of the server, as behind PgBouncer"
    " with pool_mode = transaction, so two daemons could write at once; connect directly, or with"
    " pool_mode = session"
)
NOT_LOCKED = (
    "a second session gets a lock that the first one holds, so two daemons could write at once;"
    " use PostgreSQL itself, and connect directly or with pool_mode = session"
)


def require_session_lock(
    db: PostgresConnection, connect: Callable[[], PostgresConnection], shown: str
) -> None:
    """Require that a lock of the session ``db`` is refused to others; ``shown`` names the server.

    Opens another session with ``connect`` for the test.

    Raises:
        JournalError: the lock is given to both sessions, or these are not sessions of the server.
        psycopg.Error: the server refuses a statement.
        AbortedError: a session has ended.
    """
    held = None
    with suppress(*MIXED_UP):
        held = _is_lock_held(db, connect)
    if held is None:
        raise JournalError(f"{shown}: {POOLED}")
    if not held:
        raise JournalError(f"{shown}: {NOT_LOCKED}")


def _is_lock_held(db: PostgresConnection, connect: Callable[[], PostgresConnection]) -> bool | None:
    """Return whether only one session gets a lock; None if a connection reaches several."""
    process = db.execute(PROCESS).get
    with closing(connect()) as other:
        held = db.execute(TRY, (process,)).get
        other.execute("BEGIN")  # keeps a pooler from giving its session to others
        if other.execute(PROCESS).get == process or db.execute(PROCESS).get != process:
            return None
        refused = not other.execute(TRY, (process,)).get
        other.execute("COMMIT")
        if any(db.execute(PROCESS).get != process for _ in range(LOOKS)):
            return None
    return bool(held and refused and db.execute(RELEASE, (process,)).get)
