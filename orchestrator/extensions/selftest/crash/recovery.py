"""Inspect the journal of a dead daemon, and recoveries of a copy of it."""

import json
import shutil
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from orchestrator.errors import AlreadyRunningError, JournalError
from orchestrator.extensions.selftest.crash import evidence
from orchestrator.extensions.selftest.crash.evidence import Death
from orchestrator.extensions.selftest.crash.ledger import LedgerEvent, find_confirmed_offset
from orchestrator.journal import opening
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import outbox, turns
from orchestrator.journal_address import JournalAddress

FILES = ("journal.db", "journal.db-wal")
WINDOW = 50  # messages of history in a turn's context
PLANS = 2


def inspect_death(journal: JournalAddress, events: Iterable[LedgerEvent]) -> Death:
    """Return the stored state after a death, and what the world knows by then."""
    with _copy_journal(journal) as copy:
        return Death(
            evidence.read_journal(copy, check=True),
            find_confirmed_offset(events),
            plan_recoveries(copy),
        )


def plan_recoveries(journal: JournalAddress, now: int = 1) -> tuple[str, ...]:
    """Return the next process's work: open turns with their context, and messages to send.

    Each plan is made anew, and rolled back. ``now`` is in milliseconds since the epoch. For an
    incomplete journal return the error.
    """
    try:
        db = opening.open_journal(journal)
    except (JournalError, AlreadyRunningError) as error:
        return (str(error).replace(str(journal), ""),)
    found = []
    with closing(db):
        for _ in range(PLANS):
            db.execute("BEGIN")
            found.append(json.dumps(_plan_recovery(db, now)))
            db.execute("ROLLBACK")
    return tuple(found)


def _plan_recovery(db: Database, now: int) -> list[str]:
    turns.boot(db, now)
    found = db.execute("SELECT id FROM turn WHERE state = 'running' ORDER BY id").fetchall()
    contexts = [
        repr(turns.load_stored_turn(db, str(turn), frozenset(), WINDOW, now)) for (turn,) in found
    ]
    channels = db.execute("SELECT DISTINCT channel FROM outbox ORDER BY 1").fetchall()
    return contexts + [repr(outbox.list_due_rows(db, str(channel))) for (channel,) in channels]


@contextmanager
def _copy_journal(journal: JournalAddress) -> Iterator[JournalAddress]:
    """Copy the files of a journal for the block; in a database, a transaction is rolled back."""
    if not isinstance(journal, Path):
        yield journal
        return
    with TemporaryDirectory(dir=journal.parent) as folder:
        for name in FILES:
            if (journal.parent / name).exists():
                shutil.copyfile(journal.parent / name, Path(folder) / name)
        yield Path(folder) / FILES[0]
