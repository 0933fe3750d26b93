"""How far a table was read that grows at its end.

Row ids follow the order of the commits, but the id of the newest row is given again after that row
was removed. So a mark knows the time of its row as well.
"""

from typing import Literal, NamedTuple, TypeAlias

from orchestrator.journal.db.database import Database

Table: TypeAlias = Literal["transition", "model_call"]
KEEPS = {"transition": "true", "model_call": "state = 'settled'"}  # rows that keep their time


class RowMark(NamedTuple):
    """The row that was read last: its id, the time in it, and when it was read (milliseconds)."""

    id: int = 0
    at: int = 0
    read_at: int = 0


def newest(db: Database, table: Table, now: int) -> RowMark:
    """Return the mark of all that a table has now."""
    query = f"SELECT id, at FROM {table} WHERE {KEEPS[table]} ORDER BY id DESC LIMIT 1"
    row, at = db.execute(query).fetchone() or (0, 0)
    return RowMark(int(row), int(at), now)


def found_again(db: Database, table: Table, mark: RowMark) -> RowMark:
    """Return the mark, or that of an earlier row if an erasure took the row of this one.

    Rows that came since then may have ids of rows that were read, but later times.
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


def further(db: Database, table: Table, after: int, most: int) -> tuple[int, int]:
    """Return id and time of the row that is at most so many rows after another; (0, 0): none is."""
    found = db.execute(
        f"SELECT id, at FROM (SELECT id, at FROM {table} WHERE id > ? ORDER BY id LIMIT ?) AS later"
        " ORDER BY id DESC LIMIT 1",
        (after, most),
    ).fetchone()
    row, at = found or (0, 0)
    return int(row), int(at)


def last_id(db: Database, table: Table) -> int:
    return int(db.execute(f"SELECT max(id) FROM {table}").get or 0)
