"""Work inside a transaction that may fail without taking the rest with it."""

from collections.abc import Iterator
from contextlib import contextmanager

import apsw


@contextmanager
def savepoint_or_rollback(db: apsw.Connection) -> Iterator[None]:
    """What the block has written is taken back when it fails, and that is all that happens.

    Raises:
        apsw.Error: the database's own failure, with which the whole transaction may be gone.
    """
    try:
        with db:
            yield
    except apsw.Error:
        raise
    except Exception:  # noqa: BLE001, S110 - whoever does the work again, alone, is told
        pass
