"""Schema changes: once, in order, never backwards."""

import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from fakes.golden import restore
from fakes.journal import job, sqlite
from fakes.memory import WORK, own_of

from orchestrator.errors import JournalError
from orchestrator.journal import migrations
from orchestrator.journal.db.sqlite_storage import open_database
from orchestrator.journal.memory import facts, playbooks, profile
from orchestrator.journal.migrations import migrate, scripts
from orchestrator.journal.turns import pauses

FOLDER = Path(migrations.__file__).parent
NEWEST = max(scripts())
TABLE = "CREATE TABLE later(n INTEGER) STRICT; INSERT INTO later VALUES(1);"
PAUSES = """
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
REFERENCES = (
    "SELECT t.name, r.'from' FROM sqlite_schema t, pragma_foreign_key_list(t.name) r"
    " WHERE t.type = 'table' AND r.seq = 0"
)
CHILDREN = "EXPLAIN QUERY PLAN SELECT 1 FROM {table} WHERE {column} = 'x'"
SCOPES = "SELECT scope FROM {table} ORDER BY id"
BEFORE_SCOPES = 6  # the number of the migration before that of the scopes
OLD_ROWS = """
    INSERT INTO inbox(id, channel, bot_id, chat_id, chat_key, message_id, kind, sender_id, private,
      text, agent_id, turn_id, state, received_at)
      VALUES(1, 'telegram', '1', '7', 'telegram/1/7/', '1', 'message', '7', 1, 'tea', 'work', 't1',
      'claimed', 1);
    INSERT INTO session(id, agent_id, chat_key, started_at)
      VALUES(1, 'work', 'telegram/1/7/', 1), (2, 'work', 'telegram/1/8/', 1);
    INSERT INTO turn(id, agent_id, chat_key, session_id, recipe, state, epoch, deadline, allowed,
      code_ver, started_at) VALUES('t1', 'work', 'telegram/1/7/', 1, 'interactive', 'waiting', 1, 1,
      1, '1', 1), ('t2', 'work', 'telegram/1/8/', 2, 'interactive', 'closed', 1, 1, 1, '1', 1);
    INSERT INTO task(agent_id, name, source, spec, state, created_at) VALUES('work', 'mine', 'tool',
      '{"notify": {"channel": "telegram", "chat_id": "7"}}', 'active', 1),
      ('work', 'all', 'skill', '{"notify": {"channel": "telegram", "chat_id": "7"}}', 'active', 1);
    INSERT INTO fact(agent_id, fact, category, source, created_at, updated_at)
      VALUES('work', 'Likes tea', 'preference', 'turn t0', 1, 1);
    INSERT INTO profile(agent_id, body, updated_at)
      VALUES('work', '{"persona": {"system_prompt": "Kind."}}', 1);
    INSERT INTO playbook(agent_id, name, description, instructions, keywords, priority,
      required_tools, source, created_at, updated_at)
      VALUES('work', 'tea', 'x', 'y', '["tea"]', 0, '[]', 'turn t0', 1, 1);
"""
MIGRATE = """
import sys
import apsw
from orchestrator.journal.migrations import migrate, scripts
db = apsw.Connection(sys.argv[1])
migrate(db, scripts() | {int(sys.argv[2]): sys.argv[3]})
"""


def following(*changes: str) -> dict[int, str]:
    """The migrations of this version and later ones."""
    return scripts() | dict(enumerate(changes, NEWEST + 1))


def version(db: apsw.Connection) -> int:
    """The schema's number."""
    return int(db.execute("PRAGMA user_version").get)


def schema(db: apsw.Connection) -> list[tuple[object, ...]]:
    """The statements that made the schema."""
    return db.execute("SELECT name, sql FROM sqlite_schema ORDER BY name").fetchall()


def test_migrations_are_numbered_without_gaps() -> None:
    """Two developers cannot take the same number unnoticed."""
    files = sorted(file.name for file in FOLDER.glob("*.sql"))
    assert [file.split("_")[0] for file in files] == [
        f"{number:04}" for number in range(1, len(scripts()) + 1)
    ]


def test_only_sql_files_are_migrations(tmp_path: Path) -> None:
    """Each has the number that its name begins with."""
    for name in ("0002_more.sql", "0001_initial.sql", "notes.md", "__init__.py"):
        (tmp_path / name).write_text(f"-- {name}", "utf-8")
    assert scripts(tmp_path) == {1: "-- 0001_initial.sql", 2: "-- 0002_more.sql"}


def test_new_journal_has_what_the_changes_make_one_by_one(tmp_path: Path) -> None:
    """`schema.sql` is one more text of the same; scripts/golden writes it."""
    with sqlite(tmp_path) as new, closing(apsw.Connection(":memory:")) as changed:
        migrate(changed, scripts())
        assert schema(new) == schema(changed)
        assert f"PRAGMA user_version={NEWEST:d};" in migrations.schema()


def test_opening_again_changes_nothing(tmp_path: Path) -> None:
    """Every migration is applied once."""
    schemas = []
    for _ in range(2):
        with sqlite(tmp_path) as db:
            assert version(db) == NEWEST
            schemas.append(schema(db))
    assert schemas[0] == schemas[1]


def test_journal_gets_the_migrations_that_it_lacks_in_order(tmp_path: Path) -> None:
    """The third needs the second; applied again, either would fail."""
    change = "ALTER TABLE later ADD COLUMN more TEXT; UPDATE later SET more = 'x' || n;"
    with sqlite(tmp_path) as db:
        migrate(db, following(TABLE))
        assert version(db) == NEWEST + 1
        for _ in range(2):
            migrate(db, following(TABLE, change))
            assert version(db) == NEWEST + 2
            assert db.execute("SELECT n, more FROM later").fetchall() == [(1, "x1")]


def test_new_journal_gets_every_migration_at_once(tmp_path: Path) -> None:
    """Its schema is that of a journal that got them one after the other."""
    with sqlite(tmp_path) as old, closing(apsw.Connection(":memory:")) as new:
        migrate(old, following(TABLE))
        migrate(new, following(TABLE))
        assert schema(new) == schema(old)
        assert version(new) == version(old)


def test_migration_that_fails_leaves_the_journal_as_it_was(tmp_path: Path) -> None:
    """What it and those before it did is rolled back, and the journal can be used."""
    with sqlite(tmp_path) as db:
        before = schema(db)
        with pytest.raises(apsw.SQLError, match="no such table: missing"):
            migrate(db, following(TABLE, "DROP TABLE inbox; DELETE FROM missing;"))
        assert (version(db), schema(db)) == (NEWEST, before)
        migrate(db, following(TABLE))
        assert version(db) == NEWEST + 1


def test_journal_of_a_newer_version_is_refused_and_kept(tmp_path: Path) -> None:
    """The message names the ways out."""
    path = tmp_path / "journal.db"
    with sqlite(tmp_path) as db:
        migrate(db, following(TABLE))
    before = path.read_bytes()
    expected = rf"schema {NEWEST + 1}, .* up to {NEWEST}; run the version that wrote it, .*backup"
    with pytest.raises(JournalError, match=expected):
        open_database(path)
    assert path.read_bytes() == before


def test_row_is_removed_without_a_walk_through_those_that_may_refer_to_it(tmp_path: Path) -> None:
    """SQLite looks for them, and needs an index: many prompts were made of one part."""
    with sqlite(tmp_path) as db:
        walks = [
            f"{table}.{column}"
            for table, column in db.execute(REFERENCES).fetchall()
            for (*_, step) in db.execute(CHILDREN.format(table=table, column=column)).fetchall()
            if str(step).startswith("SCAN")
        ]
    assert walks == ["subagent_run.subagent_id"]  # few


def test_rows_of_two_tables_survive_their_replacement(tmp_path: Path) -> None:
    """A migration may copy tables that refer to each other; foreign keys are checked meanwhile."""
    with sqlite(tmp_path) as db:
        with job(db):
            db.execute("INSERT INTO pause VALUES(7,'work','budget','spent',1,NULL,NULL)")
            db.execute("INSERT INTO pause_told VALUES(7,'telegram/1/7/')")
        migrate(db, following(PAUSES))
        assert db.execute("SELECT pause_id FROM pause_told JOIN pause ON id = pause_id").get == 7
        assert pauses.find(db, "work") == pauses.Pause(7, "work", "budget", "spent", 1)
        assert not db.execute("PRAGMA foreign_key_check").fetchall()
        with pytest.raises(apsw.ConstraintError):
            db.execute("INSERT INTO pause_told VALUES(8,'telegram/1/7/')")


@pytest.mark.process
@pytest.mark.parametrize("point", ["before", "after"])
def test_death_around_the_commit_of_a_migration(tmp_path: Path, point: str) -> None:
    """Killed just before it, the journal is the old one; just after it, the new one."""
    path = tmp_path / "journal.db"
    restore(path)
    with closing(apsw.Connection(str(path))) as db:
        old = version(db)
    command = [sys.executable, "-c", MIGRATE, str(path), str(NEWEST + 1), TABLE]
    crash = {"ORCHESTRATOR_CRASH_AT": f"supervisor@migrate:{point}#1"}
    log = {"ORCHESTRATOR_CRASH_LOG": str(tmp_path / "log")}
    died = subprocess.run(command, check=False, env=os.environ | crash | log)
    assert died.returncode == -signal.SIGKILL
    with closing(apsw.Connection(str(path))) as db:
        assert db.execute("PRAGMA integrity_check").get == "ok"
        assert version(db) == (old if point == "before" else NEWEST + 1)
        migrate(db, following(TABLE))
        assert db.execute("SELECT n FROM later").fetchall() == [(1,)]


def test_rows_from_before_memories_of_chats_belong_to_every_chat(tmp_path: Path) -> None:
    """But tasks, conversations and open turns to the chat that they are known to come from."""
    known = {number: sql for number, sql in scripts().items() if number <= BEFORE_SCOPES}
    with closing(apsw.Connection(str(tmp_path / "journal.db"))) as db:
        migrate(db, known)
        db.execute(OLD_ROWS)
        migrate(db)
        scopes = {
            table: [scope for (scope,) in db.execute(SCOPES.format(table=table))]
            for table in ("task", "session", "turn", "fact", "playbook")
        }
        assert scopes == {
            "task": ["telegram:7", ""],
            "session": ["telegram:7", ""],
            "turn": ["telegram:7", ""],
            "fact": [""],
            "playbook": [""],
        }
        assert profile.system_prompt(db, WORK) == "Kind."
        assert profile.system_prompt(db, own_of("telegram:7")) is None
        assert [item.name for item in playbooks.every(db, WORK, ("tea",))] == ["tea"]
        assert playbooks.every(db, own_of("telegram:7"), ("tea",)) == []
        assert [fact.fact for fact in facts.find(db, WORK, "tea", 5)] == ["Likes tea"]
        assert list(playbooks.states(db, WORK)) == [""]
