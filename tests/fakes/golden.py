"""Golden journals: what released versions left behind, with turns in every state.

No version before the first one is released, so tests of a migration bring changes of their own.
"""

from contextlib import closing
from importlib import import_module
from pathlib import Path

import apsw
import pytest
from fakes.journal import address_of

from orchestrator.journal import migrations
from orchestrator.journal.migrations import Schema, load_schema
from orchestrator.journal_address import DatabaseServer

FOLDER = Path(__file__).parent.parent / "golden"
FILES = sorted(FOLDER.glob("*.sql"))
MOOD = "ALTER TABLE fact ADD COLUMN mood TEXT NOT NULL DEFAULT 'calm';"
TWO_TABLES = """
    CREATE TABLE pause_2(
      id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL,
      kind TEXT NOT NULL CHECK(kind IN('operator','anomaly','budget','account','holiday')),
      reason TEXT NOT NULL, at INTEGER NOT NULL, ended_at INTEGER, mark INTEGER) STRICT;
    INSERT INTO pause_2 SELECT * FROM pause;
    CREATE TABLE pause_told_2(
      pause_id INTEGER NOT NULL REFERENCES pause_2, chat_key TEXT NOT NULL,
      PRIMARY KEY(pause_id, chat_key)) STRICT, WITHOUT ROWID;
    INSERT INTO pause_told_2 SELECT * FROM pause_told;
    DROP TABLE pause_told;
    DROP TABLE pause;
    ALTER TABLE pause_2 RENAME TO pause;
    ALTER TABLE pause_told_2 RENAME TO pause_told;
    CREATE UNIQUE INDEX one_pause ON pause(agent_id) WHERE ended_at IS NULL;
"""  # how a CHECK is changed, in two tables that refer to each other
# What later versions may change: nothing, a column, or tables that are made anew.
LATER = {"as it is": (), "one column later": (MOOD,), "two tables later": (MOOD, TWO_TABLES)}
POSTGRESQL_FILES = sorted((FOLDER / "postgresql").glob("*.sql"))  # schemas without rows


def restore(path: Path, golden: Path = FILES[0]) -> None:
    """Write a golden journal to ``path`` as the version that made it would have left it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(apsw.Connection(str(path))) as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute(golden.read_text("utf-8"))


def restore_in(folder: Path) -> None:
    """Let a folder have the oldest golden journal, wherever the journals of this run are."""
    restore(folder / "journal.db")
    address = address_of(folder)
    if isinstance(address, DatabaseServer):
        moving = import_module("orchestrator.extensions.postgresql.moving")
        moving.move_to_server(address)


def make_later_schema(*changes: str, known: Schema | None = None) -> Schema:
    """The schema of a later version, which has made these changes."""
    known = known or load_schema()
    numbered = dict(enumerate(changes, known.number + 1))
    return Schema(known.whole + "".join(changes), {**known.changes, **numbered})


def upgrade_program(monkeypatch: pytest.MonkeyPatch, *changes: str) -> None:
    """Let this program be a later version, which has made these changes."""
    later = make_later_schema(*changes)
    monkeypatch.setattr(migrations, "load_schema", lambda: later)
