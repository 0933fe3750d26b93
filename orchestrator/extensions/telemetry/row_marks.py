"""Track how far a growing table was read.

Row ids follow the order of commits, but the id of a removed newest row is reused. So a mark also
has the time of its row.
"""

from typing import Literal, NamedTuple, TypeAlias

from orchestrator.journal.db.database import Database

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


def find_row_ahead(db: Database, table: Table, after: int, most: int) -> tuple[int, int]:
    """Return id and time of the last row within a number of rows after another; (0, 0) if none."""
    found = db.execute(
        f"SELECT id, at FROM (SELECT id, at FROM {table} WHERE id > ? ORDER BY id LIMIT ?) AS later"
        " ORDER BY id DESC LIMIT 1",
        (after, most),
    ).fetchone()
    row, at = found or (0, 0)
    return int(row), int(at)


def load_last_id(db: Database, table: Table) -> int:
    return int(db.execute(f"SELECT max(id) FROM {table}").get or 0)
