"""What a journal that was left behind holds, and what recoveries of copies of it make of it."""

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
from orchestrator.selftest.evidence import Journal

FILES = ("journal.db", "journal.db-wal")
WINDOW = 50  # messages of history
COPIES = 2


def inspect(home: Path) -> tuple[Journal, tuple[str, ...]]:
    """The rows on disk after a death, and a recovery plan for each of two copies."""
    with TemporaryDirectory(dir=home) as folder:
        copies = [_copied(home, Path(folder) / str(number)) for number in range(COPIES + 1)]
        return evidence.read(copies[0], check=True), tuple(map(plan, copies[1:]))


def plan(path: Path, now: int = 1) -> str:
    """What the next process would do: every open turn with its context and every message to send.

    ``now`` in milliseconds. A journal that was not complete yet has no plan.
    """
    try:
        db = open_database(path)
    except JournalError as error:
        return str(error).replace(str(path), "")
    with closing(db):
        db.execute("BEGIN")  # and never committed: the copy is thrown away
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
