"""Work inside a transaction that may fail without failing the rest."""

from collections.abc import Iterator
from contextlib import contextmanager

import apsw


@contextmanager
def savepoint_or_rollback(db: apsw.Connection) -> Iterator[None]:
    """Roll back what the block has written if it fails, and swallow its error.

    Raises:
        apsw.Error: the database failed, and with it possibly the whole transaction.
    """
    try:
        with db:
            yield
    except apsw.Error:
        raise
    except Exception:  # noqa: BLE001, S110 - the caller does the work again on its own, and gets the error
        pass


@contextmanager
def undone(db: apsw.Connection) -> Iterator[None]:
    """Roll back all that the block writes, in any case."""
    db.execute("SAVEPOINT undone")
    try:
        yield
    finally:
        db.execute("ROLLBACK TO undone")
        db.execute("RELEASE undone")
