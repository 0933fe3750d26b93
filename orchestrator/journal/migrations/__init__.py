"""Numbered schema changes: ``0001_….sql``, ``0002_….sql``, applied once, in order."""

from importlib import resources

import apsw

from orchestrator.errors import JournalError
from orchestrator.failpoints import failpoint


def scripts() -> dict[int, str]:
    """The SQL of every migration by its number."""
    folder = resources.files(__package__)
    return {
        int(entry.name.split("_")[0]): entry.read_text("utf-8")
        for entry in folder.iterdir()
        if entry.name.endswith(".sql")
    }


def migrate(db: apsw.Connection) -> None:
    """Bring the schema up to date, in one transaction with its number: in whole or not at all.

    Raises:
        JournalError: the file was written by a newer version of this program.
    """
    known = scripts()
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
