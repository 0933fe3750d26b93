"""Move the journal of a home from its file to a database server, and back."""

from contextlib import closing
from pathlib import Path

from orchestrator.errors import JournalError
from orchestrator.journal import transfer
from orchestrator.journal.db import liveness, sqlite_storage
from orchestrator.journal.db.journal_file import moved_mark
from orchestrator.journal.postgresql import pg_opening, pg_schema
from orchestrator.journal.transfer import Copied
from orchestrator.journal_address import DatabaseServer


def move_to_server(server: DatabaseServer) -> Copied:
    """Copy a file's journal to an empty database; the file is kept, and not used any more.

    The caller has locked the home.

    Raises:
        AlreadyRunningError: a daemon has the journal of the server.
        JournalError: one of them cannot be used, or the copy is not what the file is.
    """
    sqlite_storage.open_database(server.file).close()  # brings it up to date
    with (
        sqlite_storage.reading(server.file) as source,
        closing(pg_opening.open_database(server)) as target,
    ):
        target.execute("BEGIN")
        copied = transfer.copy_rows(source, target)
        pg_schema.count_on(target)
        liveness.was_clean(target)  # long ago, if at all
        moved_mark(server.file).write_text(f"{server}\n", "utf-8")  # no two of them may be used
        target.execute("COMMIT")
    return copied


def move_back(server: DatabaseServer) -> tuple[Copied, Path | None]:
    """Copy a server's journal to a file; what the server has is not used any more.

    The caller has locked the home. A file that is left from the way there is kept under another
    name, which is returned.

    Raises:
        AlreadyRunningError: a daemon has the journal of the server.
        JournalError: one of them cannot be used, or the copy is not what the server has.
    """
    file = server.file
    if file.exists() and not moved_mark(file).exists():
        raise JournalError(f"{file}: this journal was never moved; move it away first")
    draft, kept = (file.with_name(f"{file.name}-{name}") for name in ("draft", "before"))
    for left in (draft, kept):
        left.unlink(missing_ok=True)
    with closing(pg_opening.open_database(server)) as source:
        source.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        with closing(sqlite_storage.open_database(draft)) as target:
            target.execute("BEGIN")
            copied = transfer.copy_rows(source, target)
            target.execute("COMMIT")
        aside = kept if file.exists() else None
        if aside is not None:
            file.rename(aside)
        draft.replace(file)
        pg_schema.leave(source)
        source.execute("COMMIT")
        moved_mark(file).unlink(missing_ok=True)
    return copied, aside
