"""Move a home's journal from its file to a database server, and back.

After an interruption, the file or the server has the whole journal, and at least the other one
refuses to be used; `move_back` then returns to the file. A moved file has a marker beside it, with
its destination or, on the way back, the daemon's start count.
"""

from contextlib import closing
from itertools import count
from pathlib import Path

from orchestrator.errors import JournalError
from orchestrator.extensions.postgresql import pg_opening, pg_schema, transfer
from orchestrator.extensions.postgresql.clean_end import consume_clean_end
from orchestrator.extensions.postgresql.transfer import CopyCounts
from orchestrator.journal.db import liveness, sqlite_storage
from orchestrator.journal.db.journal_file import build_moved_mark_path
from orchestrator.journal_address import DatabaseServer

BACK = "back at start {starts}\n"


def move_to_server(server: DatabaseServer) -> CopyCounts:
    """Copy a file's journal to an empty database; the file is kept, but no longer used.

    The caller has locked the home.

    Raises:
        AlreadyRunningError: a daemon has the journal of the server.
        JournalError: the file or the server cannot be used, or the copy differs from the file.
    """
    sqlite_storage.open_database(server.file).close()  # brings it up to date
    with (
        sqlite_storage.open_for_reading(server.file) as source,
        closing(pg_opening.open_database(server)) as target,
    ):
        with pg_opening.open_transaction(target, server):
            copied = transfer.copy_rows(source, target)
            pg_schema.advance_id_sequences(target)
            consume_clean_end(target)  # long ago, if at all
            pg_schema.mark_arriving(target)
        build_moved_mark_path(server.file).write_text(f"{server}\n", "utf-8")
        with pg_opening.open_transaction(target, server):
            pg_schema.mark_arrived(target)
    return copied


def move_back(server: DatabaseServer) -> tuple[CopyCounts | None, Path | None]:
    """Copy a server's journal to a file; the server's is no longer used.

    The caller has locked the home. An old file is kept under another name, which is returned.
    Nothing is copied if the file has the journal, after an interrupted move.

    Raises:
        AlreadyRunningError: a daemon has the journal of the server.
        JournalError: the file or the server cannot be used, or the copy differs from the server.
    """
    file, mark = server.file, build_moved_mark_path(server.file)
    if file.exists() and not mark.exists():
        raise JournalError(f"{file}: this journal was never moved; move it away first")
    if file.exists() and _has_whole_journal(server):
        mark.unlink()
        return None, None
    with pg_opening.open_for_reading(server):
        pass  # raises if there is no journal to move
    draft = file.with_name(f"{file.name}-draft")
    draft.unlink(missing_ok=True)
    aside = None
    with (
        closing(pg_opening.open_database(server)) as source,
        pg_opening.open_transaction(source, server, "REPEATABLE READ"),
    ):
        with closing(sqlite_storage.open_database(draft)) as target:
            target.execute("BEGIN")
            copied = transfer.copy_rows(source, target)
            target.execute("COMMIT")
        if not mark.exists():  # a machine that never had the file
            mark.write_text(f"{server}\n", "utf-8")
        with mark.open("a", encoding="utf-8") as text:
            text.write(BACK.format(starts=liveness.count_starts(source)))
        if file.exists():
            names = (f"{file.name}-before{number or ''}" for number in count())
            aside = next(path for path in map(file.with_name, names) if not path.exists())
            file.rename(aside)
        draft.replace(file)
        pg_schema.mark_moved_away(source)
    mark.unlink(missing_ok=True)
    return copied, aside


def _has_whole_journal(server: DatabaseServer) -> bool:
    """Return whether an unusable file has the whole journal, after an interrupted move."""
    state, starts = pg_opening.load_state_and_starts(server)
    came_back = BACK.format(starts=starts) in build_moved_mark_path(server.file).read_text("utf-8")
    return state == pg_schema.ARRIVING or (state == pg_schema.LEFT and came_back)
