"""What turns did without: stored once, told once, and again after it healed."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.journal import booted, open_turn

from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import degradations, turns, usage
from orchestrator.journal.turns.outbox import OutboxPart
from thinker.protocol.degradations import Degradation

HOUR = degradations.AGAIN
OTHER_MODEL = Degradation(kind="model", subject="a/b", what="failed", words="503")
NO_TOOL = Degradation(kind="tool", subject="search", what="left out")


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """An empty journal under its first epoch."""
    with booted(tmp_path) as connection:
        yield connection


def run_turn(
    db: Database, number: int, *found: Degradation, at: int = 0
) -> tuple[Degradation, ...]:
    """A whole turn that did without these; what the operator is told."""
    turn = open_turn(db, f"t{number}")
    usage.reserve_amount(db, "work", turn.id, "a/b", usage.Amount(1), at)
    stored = degradations.record_degradations(db, turn, found, 1, at)
    turns.end_with_reply(db, turn, [OutboxPart("ok")], "direct", ("done", None), at)
    assert list(stored) == list(found)
    return tuple(one for one, untold in stored.items() if untold)


def test_operator_is_told_once_of_what_lasts(db: Database) -> None:
    """Also when it changes; each model and tool counts for itself."""
    assert run_turn(db, 1, OTHER_MODEL) == (OTHER_MODEL,)
    assert run_turn(db, 2, OTHER_MODEL, NO_TOOL, at=2 * HOUR) == (NO_TOOL,)
    assert run_turn(db, 3, OTHER_MODEL, NO_TOOL, at=4 * HOUR) == ()
    changed = OTHER_MODEL.model_copy(update={"what": "failed, and c/d answered"})
    assert run_turn(db, 4, changed, at=4 * HOUR) == (changed,)


def test_operator_is_told_again_of_what_healed_and_came_back(db: Database) -> None:
    """But not each time when it comes and goes within an hour."""
    run_turn(db, 1, OTHER_MODEL)
    run_turn(db, 2, at=1)
    assert run_turn(db, 3, OTHER_MODEL, at=2) == ()
    run_turn(db, 4, at=HOUR)
    assert run_turn(db, 5, OTHER_MODEL, at=2 * HOUR) == (OTHER_MODEL,)


def test_status_counts_the_turns_of_the_last_day(db: Database) -> None:
    """With the first and the last time, and the words of the provider."""
    run_turn(db, 1, OTHER_MODEL)
    for number in (2, 3):
        run_turn(db, number, OTHER_MODEL, NO_TOOL, at=number * HOUR)
    day = degradations.RECENT
    often = "(2 turns since 1970-01-01 02:00, the last at 1970-01-01 03:00 UTC)"
    assert [str(one) for one in degradations.list_recent_degradations(db, day)] == [
        f"with less: a/b failed (503) {often}",
        f"with less: search left out {often}",
    ]
    assert degradations.list_recent_degradations(db, day + 4 * HOUR) == []


def test_turn_that_is_resumed_did_without_a_thing_once(db: Database) -> None:
    """The process that resumes it finds the same again."""
    turn = open_turn(db, "t1")
    assert degradations.record_degradations(db, turn, [NO_TOOL], 1, 1) == {NO_TOOL: True}
    assert degradations.record_degradations(db, turn, [NO_TOOL], 3, 1) == {}
    assert degradations.list_degradations_of_turn(db, "t1") == [(1, NO_TOOL)]
    assert degradations.is_new_to_chat(db, turn, NO_TOOL, 1)
    assert not degradations.is_new_to_chat(db, open_other_turn(db), NO_TOOL, 1)


def open_other_turn(db: Database) -> turns.Turn:
    """The next turn of the chat."""
    turn = turns.load_turn(db, "t1")
    turns.end_with_reply(db, turn, [OutboxPart("ok")], "direct", ("done", None), 2)
    return open_turn(db, "t2")
