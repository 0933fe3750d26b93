"""Find the distinct values of a column without reading every row that has them."""


def distinct(table: str, column: str, where: str) -> str:
    """Return a query for the values of ``column`` among the rows ``where``.

    It seeks from one value to the next in an index that begins with the column and has the same
    condition. SQLite's own DISTINCT reads all rows: with 10,000 of them in 100 chats that takes
    milliseconds, on every wake.
    """
    least = f"SELECT min({column}) FROM {table} WHERE {where}"
    return (
        f"WITH RECURSIVE found(value) AS ({least} UNION ALL"
        f" SELECT ({least} AND {column} > value) FROM found WHERE value IS NOT NULL)"
        " SELECT value FROM found WHERE value IS NOT NULL"
    )
