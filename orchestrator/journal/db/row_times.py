"""Find rows by their time where no index has it: their ids follow it."""

import apsw


def first_since(db: apsw.Connection, table: str, column: str, at: int) -> int:
    """Return the first row id of a table whose time in ``column`` is not before ``at``.

    Row ids follow the time. After the clock was set back, some rows are found later.
    """
    low, high = 1, int(db.execute(f"SELECT max(rowid) FROM {table}").get or 0) + 1
    sql = f"SELECT {column} FROM {table} WHERE rowid >= ? ORDER BY rowid LIMIT 1"
    while low < high:
        middle = (low + high) // 2
        if int(db.execute(sql, (middle,)).get) < at:
            low = middle + 1
        else:
            high = middle
    return low
