"""Journals of released versions: opened, migrated, and what is open in them finished."""

import re
from pathlib import Path

import apsw
import pytest
from fakes.golden import FILES, LATER, restore, upgrade_program
from fakes.journal import CLASSES, job, step

from orchestrator.errors import JournalError
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.dialect import get_dialect
from orchestrator.journal.db.sqlite_storage import open_database
from orchestrator.journal.inspect import invariants, recent_turns, trace
from orchestrator.journal.migrations import load_schema
from orchestrator.journal.turns import inbox, outbox, steps, turns
from orchestrator.journal.turns.outbox import OutboxPart
from orchestrator.journal.turns.turns import Turn, TurnAdmission
from thinker.protocol.messages import ToolResult

NOW = 1_800_000_000_000
ENDED = {"closed", "dead"}
NOISE = re.compile(r"[\"'\s]|--[^\n]*")  # quotes, white space and comments of SQL
goldens = pytest.mark.parametrize("golden", FILES, ids=lambda path: str(path.stem))


@pytest.fixture(params=LATER)
def _version(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """This version of the program, and two later ones."""
    upgrade_program(monkeypatch, *LATER[request.param])


versions = pytest.mark.usefixtures("_version")


def finish(db: Database, turn: Turn, epoch: int) -> None:
    """What a worker and its supervisor do with a turn that they find: go on where it stopped."""
    context = turns.load_stored_turn(db, turn.id, frozenset(), 50, NOW)
    for recorded in context.steps:
        for call in recorded.calls:
            if call.result is None:
                steps.mark_intent(db, turn.id, call.seq, epoch, NOW)
                waiting = steps.find_call(db, turn.id, call.seq)
                assert waiting is not None
                result = ToolResult(call_id=waiting.call_id, name=waiting.name, content="ok")
                steps.finish(db, waiting, result, NOW)
    steps.plan(db, step(turn.id, content="the end"), CLASSES, epoch, NOW)
    turns.end_with_reply(db, turn, [OutboxPart("the end")], "direct", ("done", None), NOW)


def deliver(db: Database) -> None:
    """The outbox until nothing is due."""
    while due := outbox.list_due_rows(db, "telegram"):
        for row in due:
            outbox.mark_sending(db, row.id, "sending", NOW)
            outbox.mark_delivered(db, row, row.ph_id or "1", NOW)


@versions
@goldens
def test_journal_of_every_release_is_finished_by_this_version(golden: Path, tmp_path: Path) -> None:
    """Each open turn goes on from its last step; nothing is asked or run again (invariant 19)."""
    restore(tmp_path / "journal.db", golden)
    db = open_database(tmp_path / "journal.db")
    assert invariants.check_invariants(db) == []
    with job(db):
        epoch = turns.boot(db, NOW)
    assert invariants.check_invariants(db) == []
    number = 0
    while chats := inbox.list_chats_with_work(db):
        for chat in chats:
            turn = turns.find_open_turn(db, chat)
            row = inbox.find_oldest_new(db, chat)
            with job(db):
                if turn is None and row is not None:
                    number += 1
                    admission = TurnAdmission(f"new-{number}", "work", epoch, 15, "2")
                    turn = turns.admit_message(db, row, admission, NOW)
                assert turn is not None
                finish(db, turn, epoch)
            assert invariants.check_invariants(db) == []
    with job(db):
        deliver(db)
    assert invariants.check_invariants(db) == []
    assert {state for (state,) in db.execute("SELECT state FROM turn")} == ENDED
    assert recent_turns.count_messages_by_state(db) == {
        "new": 0,
        "claimed": 0,
        "done": 10,
        "dead": 1,
        "cancelled": 1,
    }
    db.close()


@goldens
def test_migrated_journal_has_the_schema_of_a_new_one(golden: Path, tmp_path: Path) -> None:
    """Once its messages are indexed anew: every change of the schema has its own migration."""
    restore(tmp_path / "old.db", golden)
    schemas = []
    for name in ("old.db", "new.db"):
        db = open_database(tmp_path / name)
        with db:
            get_dialect(db).drop_earlier_index(db)  # as is done once its messages are indexed anew
        rows = db.execute("SELECT type, name, sql FROM sqlite_schema ORDER BY type, name")
        schemas.append([(kind, name, NOISE.sub("", sql or "")) for kind, name, sql in rows])
        db.close()
    assert schemas[0] == schemas[1]


@versions
def test_interrupted_calls_of_the_first_release_are_settled_by_class(tmp_path: Path) -> None:
    """A result stays, a keyed call runs again, one that may have happened is unknown."""
    restore(tmp_path / "journal.db", FILES[0])
    db = open_database(tmp_path / "journal.db")
    with job(db):
        turns.boot(db, NOW)
        context = turns.load_stored_turn(db, "turn-intent", frozenset(), 50, NOW)
    query = "SELECT seq, state FROM step WHERE turn_id = 'turn-intent' ORDER BY seq"
    assert db.execute(query).fetchall() == [
        (1, "done"),
        (2, "done"),
        (3, "planned"),
        (4, "unknown"),
        (5, "planned"),
    ]
    assert [call.result.content for call in context.steps[0].calls if call.result] == [
        "noon",
        steps.UNKNOWN_OUTCOME,
    ]
    rows = db.execute("SELECT id, state FROM outbox WHERE id BETWEEN 3 AND 6").fetchall()
    assert rows == [(3, "unknown"), (4, "queued"), (5, "ph_sent"), (6, "queued")]
    db.close()


@versions
@goldens
def test_every_message_of_every_release_can_be_traced(golden: Path, tmp_path: Path) -> None:
    """Its history ends with the state that it is in."""
    restore(tmp_path / "journal.db", golden)
    db = open_database(tmp_path / "journal.db")
    for number, state in db.execute("SELECT id, state FROM inbox").fetchall():
        events = [
            event for event in trace.load_trace(db, str(number)).events if event.kind == "inbox"
        ]
        assert events[-1].state == state
    db.close()


@goldens
def test_journal_of_a_later_release_is_refused_and_kept(golden: Path, tmp_path: Path) -> None:
    """This version would not know what it means."""
    path = tmp_path / "journal.db"
    restore(path, golden)
    db = apsw.Connection(str(path))
    db.execute(f"PRAGMA user_version={load_schema().number + 1:d}")
    db.close()
    before = path.read_bytes()
    with pytest.raises(JournalError, match="run the version that wrote it"):
        open_database(path)
    assert path.read_bytes() == before
