"""Inspect the journal of a dead daemon, and recoveries of a copy of it."""

import json
import shutil
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw

from orchestrator.errors import JournalError
from orchestrator.journal.db.store import open_database
from orchestrator.journal.turns import outbox, turns
from orchestrator.selftest import evidence
from orchestrator.selftest.evidence import Death
from orchestrator.selftest.ledger import LedgerEvent, confirmed

FILES = ("journal.db", "journal.db-wal")
WINDOW = 50  # messages of history in a turn's context
PLANS = 2


def inspect(home: Path, events: Iterable[LedgerEvent]) -> Death:
    """Return what is on disk after a death, and what the world knows by then."""
    with TemporaryDirectory(dir=home) as folder:
        copy = _copied(home, Path(folder))
        return Death(evidence.read(copy, check=True), confirmed(events), plans(copy))


def plans(path: Path, now: int = 1) -> tuple[str, ...]:
    """Return what the next process would do: open turns with their context and messages to send.

    Each plan is made anew. ``now`` is in milliseconds since the epoch. For an incomplete journal
    return the error.
    """
    try:
        db = open_database(path)
    except JournalError as error:
        return (str(error).replace(str(path), ""),)
    found = []
    with closing(db):
        for _ in range(PLANS):
            db.execute("BEGIN")
            found.append(json.dumps(_plan(db, now)))
            db.execute("ROLLBACK")
    return tuple(found)


def _plan(db: apsw.Connection, now: int) -> list[str]:
    turns.boot(db, now)
    found = db.execute("SELECT id FROM turn WHERE state = 'running' ORDER BY id").fetchall()
    contexts = [repr(turns.context(db, str(turn), frozenset(), WINDOW, now)) for (turn,) in found]
    channels = db.execute("SELECT DISTINCT channel FROM outbox ORDER BY 1").fetchall()
    return contexts + [repr(outbox.due(db, str(channel))) for (channel,) in channels]


def _copied(home: Path, folder: Path) -> Path:
    for name in FILES:
        if (home / name).exists():
            shutil.copyfile(home / name, folder / name)
    return folder / FILES[0]
