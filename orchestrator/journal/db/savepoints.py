"""Work inside a transaction that may fail without failing the rest."""

from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from orchestrator.journal.db.database import AbortedError, Database

# Errors that have rolled back the whole transaction.
ABORTED = (apsw.FullError, apsw.IOError, apsw.CorruptError, AbortedError)


@contextmanager
def savepoint_or_rollback(db: Database) -> Iterator[None]:
    """Roll back what the block has written if it fails, and swallow its error.

    Errors that have rolled back the whole transaction are raised.
    """
    try:
        with db:
            yield
    except ABORTED:
        raise
    except Exception:  # noqa: BLE001, S110 - the caller does the work again on its own, and gets the error
        pass


@contextmanager
def undone(db: Database) -> Iterator[None]:
    """Roll back all that the block writes, in any case."""
    db.execute("SAVEPOINT undone")
    try:
        yield
    finally:
        db.execute("ROLLBACK TO undone")
        db.execute("RELEASE undone")
