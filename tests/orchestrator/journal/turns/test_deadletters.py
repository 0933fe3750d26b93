"""Dead letters: put back, or dropped, and never both."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.journal import job, next_turn, open_turn, opened, receive, row_of, update

from orchestrator.errors import OrchestratorError
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import FencedError
from orchestrator.journal.inspect import recent_turns
from orchestrator.journal.turns import deadletters, turns
from orchestrator.journal.turns.outbox import OutboxPart
from orchestrator.journal.turns.turns import Turn


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """An empty journal."""
    with opened(tmp_path) as connection:
        yield connection


def dead(db: Database) -> Turn:
    """A turn that was given up; a second message waits in its chat."""
    turn = open_turn(db)
    receive(db, update(2))
    with job(db):
        for _ in range(3):
            turns.count_process_death(db, turn.id)
        turns.end_as_dead_letter(db, turn, "signal 11", "I gave it up.", 5)
    return turn


def test_retried_message_comes_before_those_behind_it(db: Database) -> None:
    """It gets a fresh turn, and three more lives."""
    dead(db)
    with job(db):
        deadletters.retry_dead_letter(db, 1, 6)
    assert next_turn(db, "t9") is not None
    row = row_of(db, "t9")
    assert (row.id, row.state, row.claims, row.error) == (1, "claimed", 0, None)
    assert deadletters.list_dead_letters(db) == []


def test_late_end_of_the_buried_turn_changes_nothing(db: Database) -> None:
    """Its message belongs to no turn, or to another one by now."""
    turn = dead(db)
    with job(db):
        deadletters.retry_dead_letter(db, 1, 6)
    for _ in range(2):
        with pytest.raises(FencedError), job(db):
            turns.end_with_reply(db, turn, [OutboxPart("late")], "direct", ("done", None), 7)
        with pytest.raises(FencedError), job(db):
            turns.end_as_dead_letter(db, turn, "late", "late", 7)
        next_turn(db, "t9")


def test_decision_is_made_once(db: Database) -> None:
    """The second one finds no dead letter."""
    dead(db)
    with job(db):
        deadletters.drop_dead_letter(db, 1, 6)
    for change in (deadletters.drop_dead_letter, deadletters.retry_dead_letter):
        with pytest.raises(OrchestratorError, match="message 1 is not a dead letter"), job(db):
            change(db, 1, 7)
    assert recent_turns.count_messages_by_state(db) == {
        "new": 1,
        "claimed": 0,
        "done": 0,
        "dead": 0,
        "cancelled": 1,
    }
