"""Look for damaged pages in a journal's file, one table at a time.

One statement for the whole file would be one long read, for which the write-ahead log grows.
"""

import time
from collections.abc import Callable
from contextlib import suppress

import apsw

TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
STORED = f"{TABLES} AND rootpage > 0"  # a virtual table is stored in other tables
TABLE_SECONDS = 0.02  # for each table before anything is answered: some thousand pages
DAMAGED = (apsw.CorruptError, apsw.NotADBError, apsw.IOError)  # errors that say so
STEPS = 1000  # pages or instructions between two looks at the clock


def list_tables(db: apsw.Connection) -> list[str]:
    return [str(name) for (name,) in db.execute(TABLES).fetchall()]


def find_damage(db: apsw.Connection, table: str) -> str | None:
    """Return the first damage of a table and its indexes, or None.

    Raises:
        apsw.InterruptError: the check was interrupted.
        apsw.Error: it could not be made, such as for want of memory.
    """
    try:
        found = str(db.execute(f"PRAGMA quick_check('{table}')").get)
    except DAMAGED as error:  # it cannot even be read
        return str(error)
    return None if found == "ok" else found


def find_damage_quickly(
    db: apsw.Connection, clock: Callable[[], float] = time.monotonic
) -> str | None:
    """Return the first damage that shows in a moment, or None.

    Tables of some megabytes are checked wholly. A longer table is left off after `TABLE_SECONDS`,
    so the time does not grow with the file.
    """
    until, tables = 0.0, [str(name) for (name,) in db.execute(STORED).fetchall()]
    db.set_progress_handler(lambda: clock() > until, STEPS)
    try:
        for table in tables:
            until = clock() + TABLE_SECONDS
            with suppress(apsw.Error):  # the daemon checks what is left off while it works
                found = find_damage(db, table)
                if found is not None:
                    return found
    finally:
        db.set_progress_handler(None)
    return None
