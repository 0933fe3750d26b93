"""Inspect the journal of a dead daemon, and the recoveries of copies of it."""

import json
import shutil
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw

from orchestrator.errors import JournalError
from orchestrator.journal.db.store import open_database
from orchestrator.journal.turns import outbox, turns
from orchestrator.selftest import evidence
from orchestrator.selftest.evidence import JournalRows

FILES = ("journal.db", "journal.db-wal")
WINDOW = 50  # messages of history in a turn's context
COPIES = 2


def inspect(home: Path) -> tuple[JournalRows, tuple[str, ...]]:
    """Return the rows on disk after a death, and the recovery plans of two copies."""
    with TemporaryDirectory(dir=home) as folder:
        copies = [_copied(home, Path(folder) / str(number)) for number in range(COPIES + 1)]
        return evidence.read(copies[0], check=True), tuple(map(plan, copies[1:]))


def plan(path: Path, now: int = 1) -> str:
    """Return what the next process would do: open turns with their context and messages to send.

    ``now`` is in milliseconds since the epoch. For an incomplete journal return the error.
    """
    try:
        db = open_database(path)
    except JournalError as error:
        return str(error).replace(str(path), "")
    with closing(db):
        db.execute("BEGIN")  # never committed: the copy is thrown away
        return json.dumps(_plan(db, now))


def _plan(db: apsw.Connection, now: int) -> list[str]:
    turns.boot(db, now)
    found = db.execute("SELECT id FROM turn WHERE state = 'running' ORDER BY id").fetchall()
    contexts = [repr(turns.context(db, str(turn), frozenset(), WINDOW, now)) for (turn,) in found]
    channels = db.execute("SELECT DISTINCT channel FROM outbox ORDER BY 1").fetchall()
    return contexts + [repr(outbox.due(db, str(channel))) for (channel,) in channels]


def _copied(home: Path, folder: Path) -> Path:
    folder.mkdir()
    for name in FILES:
        if (home / name).exists():
            shutil.copyfile(home / name, folder / name)
    return folder / FILES[0]
