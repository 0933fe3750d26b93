"""The schema of the journal as numbered changes: ``0001_….sql``, then ``0002_….sql``."""

from collections.abc import Collection, Mapping
from contextlib import closing
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from zlib import crc32

import apsw

from orchestrator.errors import JournalError
from orchestrator.failpoints import failpoint

MOVE_AWAY = "move journal.db, journal.db-wal and journal.db-shm away to start with an empty journal"


@cache
def scripts(folder: Traversable | None = None) -> dict[int, str]:
    """Return the SQL of every migration in a folder (default: this package) by its number."""
    return {
        int(entry.name.split("_")[0]): entry.read_text("utf-8")
        for entry in (folder or resources.files(__package__)).iterdir()
        if entry.name.endswith(".sql")
    }


@cache
def schema() -> str:
    """Return SQL that makes in one step, for a new journal, what the changes make one by one.

    It takes a tenth of their time, and sets ``user_version`` to the last change that it has.
    """
    return resources.files("orchestrator.journal").joinpath("schema.sql").read_text("utf-8")


def migrate(db: apsw.Connection, known: Mapping[int, str] | None = None) -> None:
    """Apply the migrations that a journal lacks, in order and in one transaction.

    The transaction also stores the new number as ``user_version``. ``known`` are the migrations by
    number, without gaps (default: `scripts`, and `schema` for a new journal).

    Raises:
        JournalError: as `verify`.
    """
    changes = known or scripts()
    newest = max(changes)
    version = verify(db, changes)
    if version == newest:
        return
    with db:
        if known is None and not version:
            db.execute(schema())
        for number in range(int(db.execute("PRAGMA user_version").get) + 1, newest + 1):
            db.execute(changes[number])
        if version:  # a new journal has what these changes make
            _check_columns(_columns(db), changes)
        db.execute(f"PRAGMA user_version={newest:d}; PRAGMA application_id={_mark(changes):d}")
        failpoint("migrate:before")
    failpoint("migrate:after")


def verify(db: apsw.Connection, known: Mapping[int, str] | None = None) -> int:
    """Return the schema number of a journal, or 0 for an empty one, without writing to it.

    Raises:
        JournalError: another version of this program wrote the file, with a newer schema, or
            another program did.
    """
    known = known or scripts()
    version, newest, found = int(db.execute("PRAGMA user_version").get), max(known), _columns(db)
    if version > newest:
        raise JournalError(
            f"the journal has schema {version}, this version reads schemas up to {newest}; "
            f"run the version that wrote it, restore an older backup, or {MOVE_AWAY}"
        )
    if found and not version:
        raise JournalError(
            f"journal.db is a database of another program; restore a backup, or {MOVE_AWAY}"
        )
    if version == newest and int(db.execute("PRAGMA application_id").get) != _mark(known):
        _check_columns(found, known)
    return version


def _mark(known: Mapping[int, str]) -> int:
    """Return the ``application_id`` of a journal whose columns were compared with these changes."""
    return crc32("".join(known[number] for number in sorted(known)).encode()) >> 1


def _check_columns(found: Collection[str], known: Mapping[int, str]) -> None:
    if lacks := sorted(_expected(tuple(known.items())).difference(found)):
        raise JournalError(
            f"journal.db is of another program, or of a version before the first release: it has"
            f" no {lacks[0]}; restore a backup, or {MOVE_AWAY}"
        )


def _columns(db: apsw.Connection) -> frozenset[str]:
    """Return every column of every table, as ``table.column``."""
    rows = db.execute(
        "SELECT t.name || '.' || c.name FROM sqlite_schema t, pragma_table_info(t.name) c"
        " WHERE t.type = 'table'"
    )
    return frozenset(str(name) for (name,) in rows)


@cache
def _expected(known: tuple[tuple[int, str], ...]) -> frozenset[str]:
    """Return the columns of a journal that has every migration."""
    with closing(apsw.Connection(":memory:")) as db:
        for _, change in sorted(known):
            db.execute(change)
        return _columns(db)
