"""The schema of the journal: one file for new journals, and numbered changes for older ones.

A change since the first release is a file of this folder, such as ``0022_mood.sql``; the schema
file includes it as well.

Where: is the journal's schema migrated?
"""

from collections.abc import Collection, Mapping
from contextlib import closing
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import NamedTuple
from zlib import crc32

import apsw

from orchestrator.errors import JournalError
from orchestrator.failpoints import failpoint

FIRST = 21  # the schema of the first release; the versions before it had the numbers below
MOVE_AWAY = "move journal.db, journal.db-wal and journal.db-shm away to start with an empty journal"


class Schema(NamedTuple):
    """SQL that makes a new journal, and the changes since `FIRST` keyed by number, without gaps."""

    whole: str
    changes: Mapping[int, str]

    @property
    def number(self) -> int:
        """The number of the newest change."""
        return max(self.changes, default=FIRST)

    def list_changes_after(self, number: int) -> list[str]:
        """Return the changes that a journal of this number lacks, in order."""
        return [self.changes[later] for later in sorted(self.changes) if later > number]


@cache
def load_schema() -> Schema:
    """Return the schema of this version, for SQLite."""
    return Schema(read_tables() + _read_text("sqlite.sql"), read_changes())


def read_tables() -> str:
    """Return SQL that makes the tables and indexes, without statements specific to SQLite."""
    return _read_text("schema.sql")


def read_changes(folder: Traversable | None = None) -> dict[int, str]:
    """Return the SQL of each change in a folder (default: this package), keyed by its number."""
    return {
        int(entry.name.split("_")[0]): entry.read_text("utf-8")
        for entry in (folder or resources.files(__package__)).iterdir()
        if entry.name.endswith(".sql")
    }


def migrate(db: apsw.Connection, schema: Schema | None = None) -> None:
    """Make a new journal, or apply its missing changes in order, in one transaction.

    The transaction also stores the new number as ``user_version``. The default of ``schema`` is
    `load_schema`.

    Raises:
        JournalError: as `verify_schema`.
    """
    schema = schema or load_schema()
    version = verify_schema(db, schema)
    if version == schema.number:
        return
    with db:
        if version:
            for change in schema.list_changes_after(version):
                db.execute(change)
            _check_columns(_list_columns(db), schema)
        else:
            db.execute(schema.whole)
        db.execute(f"PRAGMA user_version={schema.number}")
        db.execute(f"PRAGMA application_id={_compute_application_id(schema)}")
        failpoint("migrate:before")
    failpoint("migrate:after")


def verify_schema(db: apsw.Connection, schema: Schema | None = None) -> int:
    """Return the schema number of a journal (0 for an empty one), without writing to it.

    Raises:
        JournalError: another version of this program wrote the file, which is newer or was never
            released, or another program did.
    """
    schema = schema or load_schema()
    version, found = int(db.execute("PRAGMA user_version").get), _list_columns(db)
    if version > schema.number:
        raise JournalError(
            f"the journal has schema {version}, this version reads schemas up to {schema.number}; "
            f"run the version that wrote it, restore an older backup, or {MOVE_AWAY}"
        )
    if found and not version:
        raise JournalError(
            f"journal.db is a database of another program; restore a backup, or {MOVE_AWAY}"
        )
    if 0 < version < FIRST:
        raise JournalError(
            f"the journal has schema {version}, of a version before the first release; run that"
            f" version, restore a backup, or {MOVE_AWAY}"
        )
    if version == schema.number and _read_application_id(db) != _compute_application_id(schema):
        _check_columns(found, schema)
    return version


def _compute_application_id(schema: Schema) -> int:
    """Return the ``application_id`` of a journal whose columns were compared with this schema."""
    return crc32(schema.whole.encode()) >> 1


def _read_application_id(db: apsw.Connection) -> int:
    return int(db.execute("PRAGMA application_id").get)


def _check_columns(found: Collection[str], schema: Schema) -> None:
    if lacks := sorted(_list_expected_columns(schema.whole).difference(found)):
        raise JournalError(
            f"journal.db is of another program, or of a version before the first release: it has"
            f" no {lacks[0]}; restore a backup, or {MOVE_AWAY}"
        )


def _list_columns(db: apsw.Connection) -> frozenset[str]:
    """Return every column of every table, as ``table.column``."""
    rows = db.execute(
        "SELECT t.name || '.' || c.name FROM sqlite_schema t, pragma_table_info(t.name) c"
        " WHERE t.type = 'table'"
    )
    return frozenset(str(name) for (name,) in rows)


@cache
def _list_expected_columns(whole: str) -> frozenset[str]:
    """Return the columns of a new journal."""
    with closing(apsw.Connection(":memory:")) as db:
        db.execute(whole)
        return _list_columns(db)


def _read_text(name: str) -> str:
    return resources.files("orchestrator.journal").joinpath(name).read_text("utf-8")
