"""Where a time begins in a table whose row ids follow the time.

They do so in one run, until an agent moves here: its rows have new ids and their earlier times, so
another run begins there. After the clock was set back, some rows are found later.
"""

from collections.abc import Iterator, Mapping

import orjson

from orchestrator.journal.db import liveness
from orchestrator.journal.db.database import NUMBERED, Database

TIMES = {
    "inbox": "received_at",
    "turn": "started_at",
    "message": "at",
    "outbox": "created_at",
    "model_call": "at",
}
RUNS = "runs of {}"  # the ids at which further runs of a table begin, in `meta`
CLEAR = 3_600_000  # milliseconds that a time falls back at a new run; less is within any run
BEGINNINGS = """SELECT row FROM (SELECT {row} AS row, {time} AS at,
  lag({time}) OVER (ORDER BY {row}) AS before FROM {table} WHERE {row} >= ?) AS pair
  WHERE at < before - ? ORDER BY row"""


def find_first_row_since(db: Database, table: str, at: int) -> int:
    """Return an id before which no row of a table has at least the time ``at``."""
    end = 1
    for begin, end in _iter_runs(db, table):
        first = _search_run(db, table, begin, end, at)
        if first < end:
            return first
    return end


def find_end_of_rows_before(db: Database, table: str, at: int) -> int:
    """Return an id from which on all rows of a table have at least the time ``at``."""
    for begin, end in reversed([*_iter_runs(db, table)]):
        first = _search_run(db, table, begin, end, at)
        if first > begin:
            return first
    return 1


def find_newest_rows(db: Database) -> dict[str, int]:
    """Return the greatest id of each table here."""
    return {table: _find_newest(db, table) for table in TIMES}


def note_runs(db: Database, newest: Mapping[str, int]) -> None:
    """Note which runs begin after ``newest``, the greatest ids before rows were added."""
    for table, since in newest.items():
        names = {"row": _name_id(table), "time": TIMES[table], "table": table}
        found = db.execute(BEGINNINGS.format_map(names), (since, CLEAR)).fetchall()
        if found:
            known = [begin for begin in _load_beginnings(db, table) if begin <= since]
            value = orjson.dumps([*known, *(int(row) for (row,) in found)]).decode()
            liveness.set_meta(db, RUNS.format(table), value)


def _name_id(table: str) -> str:
    return "rowid" if table in NUMBERED else "id"


def _find_newest(db: Database, table: str) -> int:
    return int(db.execute(f"SELECT max({_name_id(table)}) FROM {table}").get or 0)


def _load_beginnings(db: Database, table: str) -> list[int]:
    found = db.execute("SELECT v FROM meta WHERE k = ?", (RUNS.format(table),)).get
    return [] if found is None else orjson.loads(found)


def _iter_runs(db: Database, table: str) -> Iterator[tuple[int, int]]:
    """Yield the first id of each run and the one behind it."""
    begin, end = 1, _find_newest(db, table) + 1
    for following in _load_beginnings(db, table):
        if following < end:  # its rows may have been removed
            yield begin, following
            begin = following
    yield begin, end


def _search_run(db: Database, table: str, low: int, end: int, at: int) -> int:
    """Return the first id in a run whose row has at least the time ``at``; ``end`` if none has."""
    time, row, high = TIMES[table], _name_id(table), end
    sql = f"SELECT {time} FROM {table} WHERE {row} >= ? AND {row} < ? ORDER BY {row} LIMIT 1"
    while low < high:
        middle = (low + high) // 2
        found = db.execute(sql, (middle, end)).get
        if found is not None and int(found) < at:
            low = middle + 1
        else:
            high = middle
    return low
