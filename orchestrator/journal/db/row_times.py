"""Find rows by their time where no index has it: their ids follow it."""

from orchestrator.journal.db.database import Database

NUMBERED = ("turn", "web_session")  # tables whose ids are texts


def first_since(db: Database, table: str, column: str, at: int) -> int:
    """Return the first row id of a table whose time in ``column`` is not before ``at``.

    Row ids follow the time. After the clock was set back, some rows are found later.
    """
    row = "rowid" if table in NUMBERED else "id"
    low, high = 1, int(db.execute(f"SELECT max({row}) FROM {table}").get or 0) + 1
    sql = f"SELECT {column} FROM {table} WHERE {row} >= ? ORDER BY {row} LIMIT 1"
    while low < high:
        middle = (low + high) // 2
        if int(db.execute(sql, (middle,)).get) < at:
            low = middle + 1
        else:
            high = middle
    return low
