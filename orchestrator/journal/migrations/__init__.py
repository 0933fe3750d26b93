"""The schema of the journal as numbered changes: ``0001_….sql``, then ``0002_….sql``."""

from collections.abc import Mapping
from importlib import resources
from importlib.resources.abc import Traversable

import apsw

from orchestrator.errors import JournalError
from orchestrator.failpoints import failpoint


def scripts(folder: Traversable | None = None) -> dict[int, str]:
    """Return the SQL of every migration by its number.

    Args:
        folder: where the files are (default: this package).
    """
    return {
        int(entry.name.split("_")[0]): entry.read_text("utf-8")
        for entry in (folder or resources.files(__package__)).iterdir()
        if entry.name.endswith(".sql")
    }


def migrate(db: apsw.Connection, known: Mapping[int, str] | None = None) -> None:
    """Apply the migrations that a journal lacks, in order and in one transaction.

    The transaction also stores the new number as ``user_version``.

    Args:
        db: the journal, outside a transaction.
        known: the migrations by number, without gaps (default: `scripts`).

    Raises:
        JournalError: the file was written by a newer version of this program.
    """
    known = known or scripts()
    version = db.execute("PRAGMA user_version").get
    newest = max(known)
    if version > newest:
        raise JournalError(
            f"the journal has schema {version}, this version knows {newest}; "
            "install the newer version again or restore a backup made before it"
        )
    if version == newest:
        return
    with db:
        for number in range(version + 1, newest + 1):
            db.execute(known[number])
        db.execute(f"PRAGMA user_version={newest:d}")
        failpoint("migrate:before")
    failpoint("migrate:after")
