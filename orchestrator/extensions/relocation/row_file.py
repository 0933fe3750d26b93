"""The file with an agent's rows on their way, and how they get into the journal of the target.

A line is a JSON value: first what the file is, then for each table its name and columns with one
row a line, and at the end the digest of each table. Who wrote the file checks it; the transaction
that stores the rows reads it once. Nothing else changes it.
"""

import base64
import hashlib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import orjson

from orchestrator.errors import JournalError
from orchestrator.extensions.relocation.agent_tables import OF_AGENT, TABLES, AgentRows
from orchestrator.extensions.relocation.row_numbers import (
    WITH_ID,
    Row,
    Shifts,
    build_shift,
    reverse_shifts,
)
from orchestrator.journal.db.database import Cursor, Database
from orchestrator.journal.db.dialect import get_dialect

BATCH = 500  # rows stored at a time
MODULUS = 1 << 256
ORDER_ALONE = "rowid"  # a column of one database, for the order of its rows


@dataclass(frozen=True)
class TableDigest:
    """The number of a table's rows, and the sum of their SHA-256 digests, whatever their order."""

    rows: int
    digest: str


@dataclass(frozen=True)
class CheckedFile:
    """A file that is whole, with the digest of each table and the ``least`` id where rows have one.

    Neither is looked for inside a transaction, which would hold up all others.
    """

    path: Path
    digests: Mapping[str, TableDigest]
    least: Mapping[str, int]


class _Digest:
    """Adds up the digests of rows."""

    def __init__(self) -> None:
        self.rows = self._sum = 0

    def add_line(self, line: bytes) -> None:
        self.rows += 1
        self._sum = (self._sum + int.from_bytes(hashlib.sha256(line).digest())) % MODULUS

    def finish(self) -> TableDigest:
        return TableDigest(self.rows, f"{self._sum:064x}")


def write_rows(path: Path, rows: AgentRows) -> dict[str, TableDigest]:
    """Write an agent's rows to a new file, and return the digest of each table with rows."""
    digests: dict[str, TableDigest] = {}
    with path.open("xb") as file:
        path.chmod(0o600)
        for table in TABLES:
            digest = _Digest()
            for names, row in iter_rows(rows.select_table(table)):
                if not digest.rows:
                    file.write(orjson.dumps({"table": table, "columns": names}) + b"\n")
                line = encode_row(row)
                digest.add_line(line)
                file.write(line + b"\n")
            if digest.rows:
                digests[table] = digest.finish()
        whole = {name: [one.rows, one.digest] for name, one in digests.items()}
        file.write(orjson.dumps({"digests": whole}) + b"\n")
    return digests


def read_digests(path: Path) -> dict[str, TableDigest]:
    """Check a file against the digests at its end, and return them.

    Raises:
        JournalError: the file is cut off or was changed.
    """
    found: dict[str, _Digest] = {}
    current = _Digest()
    with path.open("rb") as file:
        for line in file:
            if line.startswith(b"["):
                current.add_line(line.rstrip(b"\n"))
                continue
            head = orjson.loads(line)
            if "digests" in head:
                told = {name: TableDigest(*one) for name, one in head["digests"].items()}
                if told == {name: one.finish() for name, one in found.items()}:
                    return told
                break
            current = found[head["table"]] = _Digest()
    raise JournalError(
        f"{path}: the file with the agent's rows is damaged; begin again with --undo"
    )


def check_file(path: Path) -> CheckedFile:
    """Check a file as `read_digests` does, and return what storing its rows needs to know."""
    digests, least = read_digests(path), {}
    for table, names, rows in _iter_tables(path):
        if table in WITH_ID:
            place = names.index("id")
            least[table] = min(int(row[place]) for row in rows)
    return CheckedFile(path, digests, least)


def store_rows(db: Database, file: CheckedFile, agent_id: str) -> Shifts:
    """Store the rows of a file inside the caller's transaction; return how far their ids moved.

    Rows that others may use are left as the target has them.

    Raises:
        JournalError: what is stored differs from the file.
    """
    shifts = _find_shifts(db, file.least)
    newest = int(db.execute("SELECT max(id) FROM transition").get or 0)
    for table, names, rows in _iter_tables(file.path):
        if table == "transition":  # those that triggers wrote for the rows so far
            db.execute("DELETE FROM transition WHERE id > ?", (newest,))
        _insert_rows(db, table, names, map(build_shift(table, names, shifts), rows))
    dialect = get_dialect(db)
    for table in WITH_ID:
        dialect.skip_used_ids(db, table)
    _verify_rows(db, agent_id, file.digests, shifts)
    return shifts


def _verify_rows(
    db: Database, agent_id: str, digests: Mapping[str, TableDigest], shifts: Shifts
) -> None:
    """Require that the target has exactly the agent's rows, with their earlier ids."""
    waiting = [
        int(row)
        for (row,) in db.execute(
            "SELECT id FROM inbox WHERE state = 'new' AND id >= ?", (shifts["first inbox"],)
        )
    ]
    found, back = AgentRows(db, agent_id, waiting), reverse_shifts(shifts)
    for table in OF_AGENT:
        digest, unshift = _Digest(), None
        for names, row in iter_rows(found.select_table(table)):
            unshift = unshift or build_shift(table, names, back)
            digest.add_line(encode_row(unshift(row)))
        told = digests.get(table, TableDigest(0, f"{0:064x}"))
        if digest.finish() != told:
            raise JournalError(
                f"table {table}: {told.rows} rows were sent, and what arrived differs; nothing was"
                " stored"
            )


def _find_shifts(db: Database, least: Mapping[str, int]) -> dict[str, int]:
    """Return how far the ids of each table must move to be behind those of the target."""
    shifts: dict[str, int] = {"first inbox": 1 << 62}
    for table, first in least.items():
        newest = int(db.execute(f"SELECT max(id) FROM {table}").get or 0)
        shifts[table] = max(0, newest + 1 - first)
        if table == "inbox":
            shifts["first inbox"] = first + shifts[table]
    return shifts


def _insert_rows(db: Database, table: str, names: Sequence[str], rows: Iterator[Row]) -> None:
    quoted = ", ".join(f'"{name}"' for name in names)
    insert = f"INSERT INTO {table}({quoted}) VALUES({', '.join('?' * len(names))})"
    if table not in OF_AGENT:
        insert += " ON CONFLICT DO NOTHING"
    while some := list(islice(rows, BATCH)):
        db.executemany(insert, some)


def _iter_tables(path: Path) -> Iterator[tuple[str, list[str], Iterator[Row]]]:
    """Yield each table of a file with its columns and rows, which are gone with the next."""
    with path.open("rb") as file:
        line = file.readline()
        while line:
            head = orjson.loads(line)
            if "digests" in head:
                return
            rest: list[bytes] = []
            rows = _read_rows(file, rest)
            yield head["table"], head["columns"], rows
            deque(rows, maxlen=0)
            line = rest[0]


def _read_rows(file: Iterable[bytes], rest: list[bytes]) -> Iterator[Row]:
    """Yield the rows up to the next line with something else, which goes to ``rest``."""
    for line in file:
        if not line.startswith(b"["):
            rest.append(line)
            return
        yield decode_row(orjson.loads(line))


def iter_rows(cursor: Cursor) -> Iterator[tuple[list[str], Row]]:
    """Yield each row with the names of its columns, which are sorted: databases differ in that."""
    names: list[str] = []
    places: list[int] = []
    for row in cursor:
        if not names:  # SQLite forgets them with the last row
            found = {str(name): place for place, (name, *_) in enumerate(cursor.description)}
            names = sorted(found.keys() - {ORDER_ALONE})
            places = [found[name] for name in names]
        yield names, [row[place] for place in places]


def encode_row(row: Row) -> bytes:
    """Return a row as a line of JSON."""
    return orjson.dumps(list(map(_encode_value, row)))


def _encode_value(value: object) -> object:
    if isinstance(value, bytes | memoryview):
        return {"base64": base64.b64encode(bytes(value)).decode()}
    return value


def decode_row(row: Row) -> Row:
    """Return the values of a row that was read as JSON."""
    return list(map(_decode_value, row))


def _decode_value(value: object) -> object:
    return base64.b64decode(value["base64"]) if isinstance(value, dict) else value
