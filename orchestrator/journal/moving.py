"""Move the journal of a home from its file to a database server, and back.

Whenever this is interrupted, the file or the server has the whole journal, and the other one, if
not both, refuses to be used; `move_back` then goes back to the file. A file that was moved has a
mark beside it: where it went, and on the way back at which start of a daemon.
"""

from contextlib import closing
from itertools import count
from pathlib import Path

from orchestrator.errors import JournalError
from orchestrator.journal import transfer
from orchestrator.journal.db import liveness, sqlite_storage
from orchestrator.journal.db.journal_file import moved_mark
from orchestrator.journal.postgresql import pg_opening, pg_schema
from orchestrator.journal.transfer import Copied
from orchestrator.journal_address import DatabaseServer

BACK = "back at start {starts}\n"


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
        with pg_opening.transaction(target, server):
            copied = transfer.copy_rows(source, target)
            pg_schema.count_on(target)
            liveness.was_clean(target)  # long ago, if at all
            pg_schema.await_move(target)
        moved_mark(server.file).write_text(f"{server}\n", "utf-8")
        with pg_opening.transaction(target, server):
            pg_schema.arrive(target)
    return copied


def move_back(server: DatabaseServer) -> tuple[Copied | None, Path | None]:
    """Copy a server's journal to a file; what the server has is not used any more.

    The caller has locked the home. A file that is left from the way there is kept under another
    name, which is returned. Nothing is copied if the file has the journal: a move was interrupted.

    Raises:
        AlreadyRunningError: a daemon has the journal of the server.
        JournalError: one of them cannot be used, or the copy is not what the server has.
    """
    file, mark = server.file, moved_mark(server.file)
    if file.exists() and not mark.exists():
        raise JournalError(f"{file}: this journal was never moved; move it away first")
    if file.exists() and _has_all(server):
        mark.unlink()
        return None, None
    with pg_opening.reading(server):
        pass  # raises if there is no journal to move
    draft = file.with_name(f"{file.name}-draft")
    draft.unlink(missing_ok=True)
    aside = None
    with (
        closing(pg_opening.open_database(server)) as source,
        pg_opening.transaction(source, server, "REPEATABLE READ"),
    ):
        with closing(sqlite_storage.open_database(draft)) as target:
            target.execute("BEGIN")
            copied = transfer.copy_rows(source, target)
            target.execute("COMMIT")
        if not mark.exists():  # a machine that never had the file
            mark.write_text(f"{server}\n", "utf-8")
        with mark.open("a", encoding="utf-8") as text:
            text.write(BACK.format(starts=liveness.starts(source)))
        if file.exists():
            names = (f"{file.name}-before{number or ''}" for number in count())
            aside = next(path for path in map(file.with_name, names) if not path.exists())
            file.rename(aside)
        draft.replace(file)
        pg_schema.leave(source)
    mark.unlink(missing_ok=True)
    return copied, aside


def _has_all(server: DatabaseServer) -> bool:
    """Return whether a file that may not be used has the journal, after an interrupted move."""
    state, starts = pg_opening.whereabouts(server)
    came_back = BACK.format(starts=starts) in moved_mark(server.file).read_text("utf-8")
    return state == pg_schema.ARRIVING or (state == pg_schema.LEFT and came_back)
