"""Every invariant notices the damage that it is there for."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.journal import job, open_turn, opened, planned, receive, row_of, step, update
from fakes.postgresql import POSTGRESQL

from orchestrator.journal.db import audit
from orchestrator.journal.db.database import Database
from orchestrator.journal.inspect import invariants
from orchestrator.journal.turns import steps, turns
from orchestrator.journal.turns.outbox import OutboxPart
from thinker.protocol.messages import ToolResult

DAMAGE = {
    "invariant 3": "UPDATE inbox SET state = 'claimed' WHERE id = 3",
    "invariant 5": "UPDATE step SET t_end = 99 WHERE state = 'done'",
    "invariant 6": "UPDATE step SET class = 'non_idempotent', state = 'planned' WHERE seq = 2",
    "invariant 7": "UPDATE step SET t_intent = NULL WHERE name = 'read'",
    "invariant 8": "UPDATE step SET state = 'planned' WHERE name = 'read'",
    "invariant 9": "DELETE FROM message WHERE body LIKE '%call_id%'",
    "invariant 10": "DELETE FROM outbox",
    "invariant 11": "UPDATE turn SET state = 'closed'",
    "invariant 14": "UPDATE turn SET state = 'running', epoch = 7",
    "invariant 15": "DELETE FROM inbox WHERE id = 2",
    "invariant 17": "UPDATE inbox SET kind = 'task'",
    "subagents": "UPDATE inbox SET kind = 'subagent'",
    "audit log": "UPDATE audit SET act = 'nothing'",
}


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """A journal with an answered message that called a tool, and two that wait behind it."""
    with opened(tmp_path) as connection:
        turn = open_turn(connection)
        (call,) = planned(connection, "t1", "read")
        with job(connection):
            steps.mark_intent(connection, "t1", call.seq, 1, 2)
            result = ToolResult(call_id=call.call_id, name="read", content="42")
            steps.finish(connection, call, result, 3)
            steps.plan(connection, step("t1", content="It is 42."), {}, 1, 4)
            turns.end_with_reply(
                connection, turn, [OutboxPart("It is 42.")], "direct", ("done", None), 5
            )
            audit.record_decision(connection, "test", "looked", "journal", 6)
        receive(connection, update(2), update(3))
        yield connection


def without_foreign_keys(db: Database) -> None:
    """Let rows be deleted that others refer to."""
    if not POSTGRESQL:
        db.execute("PRAGMA foreign_keys=OFF")
        return
    keys = "SELECT conrelid::regclass::text, conname FROM pg_constraint WHERE contype = 'f'"
    for table, name in db.execute(keys):
        db.execute(f"ALTER TABLE {table} DROP CONSTRAINT {name}")


def test_sound_journal_has_no_violation(db: Database) -> None:
    """Whatever state its message is in."""
    assert row_of(db, "t1").state == "done"
    assert invariants.check_invariants(db) == []


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_named_with_the_invariant_that_it_breaks(db: Database, name: str) -> None:
    """In a sentence."""
    without_foreign_keys(db)
    db.execute(DAMAGE[name])
    found = invariants.check_invariants(db)
    assert [sentence for sentence in found if sentence.startswith(f"{name}: ")], found


def test_every_invariant_is_shown_to_notice_something() -> None:
    """But for the second, which the schema itself makes impossible."""
    assert set(invariants.CHECKS) - set(DAMAGE) == {"invariant 2"}


def test_nodes_that_share_a_journal_have_turns_of_several_epochs(db: Database) -> None:
    """A turn may go to a node that has started before the one that had it."""
    db.execute("UPDATE step SET epoch = 2")
    db.execute("UPDATE turn SET state = 'running', epoch = 7")
    before = {sentence.partition(":")[0] for sentence in invariants.check_invariants(db)}
    db.execute("INSERT INTO meta VALUES('shared', '1')")
    now = {sentence.partition(":")[0] for sentence in invariants.check_invariants(db)}
    assert before - now == {"invariant 14"}
    db.execute("UPDATE turn SET epoch = 1")
    assert "invariant 7" not in {s.partition(":")[0] for s in invariants.check_invariants(db)}
