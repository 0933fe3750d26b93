"""The schema of the journal as numbered changes: ``0001_….sql``, then ``0002_….sql``."""

from collections.abc import Mapping
from importlib import resources
from importlib.resources.abc import Traversable

import apsw

from orchestrator.errors import JournalError
from orchestrator.failpoints import failpoint


def scripts(folder: Traversable | None = None) -> dict[int, str]:
    """Return the SQL of every migration in a folder (default: this package) by its number."""
    return {
        int(entry.name.split("_")[0]): entry.read_text("utf-8")
        for entry in (folder or resources.files(__package__)).iterdir()
        if entry.name.endswith(".sql")
    }


def migrate(db: apsw.Connection, known: Mapping[int, str] | None = None) -> None:
    """Apply the migrations that a journal lacks, in order and in one transaction.

    The transaction also stores the new number as ``user_version``. ``known`` are the migrations by
    number, without gaps (default: `scripts`).

    Raises:
        JournalError: another version of this program wrote the file, with a newer schema.
    """
    known = known or scripts()
    version = db.execute("PRAGMA user_version").get
    newest = max(known)
    if version > newest:
        raise JournalError(
            f"the journal has schema {version}, this version reads schemas up to {newest}; "
            "run the version that wrote it, restore an older backup, or move journal.db, "
            "journal.db-wal and journal.db-shm away to start with an empty journal"
        )
    if version == newest:
        return
    with db:
        for number in range(version + 1, newest + 1):
            db.execute(known[number])
        db.execute(f"PRAGMA user_version={newest:d}")
        failpoint("migrate:before")
    failpoint("migrate:after")
