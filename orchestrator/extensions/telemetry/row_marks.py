"""Track how far a growing table was read.

The id of a removed newest row is reused in a file, so a mark also has the time of its row. On a
server, rows are not stored in the order of their ids: read them only up to `find_settled_ids`.
"""

from typing import Literal, NamedTuple, TypeAlias

from orchestrator.journal.db.database import Database
from orchestrator.journal.db.dialect import get_dialect

Table: TypeAlias = Literal["transition", "model_call"]
KEEPS = {"transition": "true", "model_call": "state = 'settled'"}  # rows that keep their time


class RowMark(NamedTuple):
    """The last row read: its id, its time, and when it was read (milliseconds)."""

    id: int = 0
    at: int = 0
    read_at: int = 0


def load_newest_mark(db: Database, table: Table, now: int) -> RowMark:
    """Return the mark of the newest row."""
    query = f"SELECT id, at FROM {table} WHERE {KEEPS[table]} ORDER BY id DESC LIMIT 1"
    row, at = db.execute(query).fetchone() or (0, 0)
    return RowMark(int(row), int(at), now)


def relocate_mark(db: Database, table: Table, mark: RowMark) -> RowMark:
    """Return the mark, or an earlier row's if an erasure removed its row.

    Newer rows may reuse ids of rows that were read, but have later times.
    """
    if not mark.id or db.execute(f"SELECT at FROM {table} WHERE id = ?", (mark.id,)).get == mark.at:
        return mark
    found = db.execute(
        f"SELECT id, at FROM {table} WHERE id <= ? AND at <= ? AND {KEEPS[table]}"
        " ORDER BY id DESC LIMIT 1",
        (mark.id, mark.read_at),
    ).fetchone()
    row, at = found or (0, 0)
    return RowMark(int(row), int(at), mark.read_at)


class SettledIds(NamedTuple):
    """Ids up to which all rows of the tables can be read."""

    transition: int
    model_call: int


def find_settled_ids(db: Database) -> SettledIds:
    """Return them for reads that begin later."""
    dialect = get_dialect(db)
    return SettledIds(*(dialect.find_settled_id(db, table) for table in SettledIds._fields))


def find_row_ahead(
    db: Database, table: Table, after: int, most: int, upto: SettledIds
) -> tuple[int, int]:
    """Return id and time of the last row within a number of rows after another; (0, 0) if none."""
    found = db.execute(
        f"SELECT id, at FROM (SELECT id, at FROM {table} WHERE id > ? AND id <= ?"
        " ORDER BY id LIMIT ?) AS later ORDER BY id DESC LIMIT 1",
        (after, getattr(upto, table), most),
    ).fetchone()
    row, at = found or (0, 0)
    return int(row), int(at)


def load_last_id(db: Database, table: Table) -> int:
    return int(db.execute(f"SELECT max(id) FROM {table}").get or 0)
