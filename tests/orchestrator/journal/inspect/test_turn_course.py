"""The course of a turn in time."""

from pathlib import Path

from fakes.journal import booted, open_turn, planned, receive, update

from orchestrator.journal.inspect import turn_course
from orchestrator.journal.turns import approvals, turns, usage
from thinker.protocol.messages import Usage

NOW = 9_000


def test_parts_of_a_turn_stand_in_their_order(tmp_path: Path) -> None:
    """A call that waits for a person goes on until now."""
    with booted(tmp_path) as db:
        turn = open_turn(db)
        _, pay = planned(db, turn.id, "read", "pay")
        approvals.ask(db, pay, "because", "c0de", 100)
        usage.book(db, "work", turn.id, "demo", Usage(prompt=5, completion=1), None, 1)
        found = turn_course.find(db, turn.id, NOW)
        assert found is not None
        assert [(bar.name, bar.kind) for bar in found.bars] == [
            ("demo/demo", "model"),
            ("pay", "person"),
        ]
        model, person = found.bars
        assert not model.measured
        assert (person.began, person.ended, person.open) == (100, NOW, True)
        assert [step.name for step in found.steps] == ["demo/demo", "read", "pay"]
        assert [cost.prompt for cost in found.costs.values()] == [5]
        assert found.approvals[pay.seq].code == "c0de"


def test_death_of_a_worker_is_a_mark(tmp_path: Path) -> None:
    """With its number."""
    with booted(tmp_path) as db:
        turn = open_turn(db)
        turns.process_died(db, turn.id)
        found = turn_course.find(db, turn.id, NOW)
        assert found is not None
        (mark,) = found.marks
        assert "death 1" in mark.text
        assert found.turn.deaths == 1


def test_turn_is_found_by_a_part_of_its_name_and_by_its_message(tmp_path: Path) -> None:
    """Or not at all."""
    with booted(tmp_path) as db:
        turn = open_turn(db, "t1234")
        assert turn_course.newest(db, "t12") == turn.id
        assert turn_course.newest(db, "234") == turn.id
        assert turn_course.newest(db, "nope") is None
        assert turn_course.turn_of_message(db, 1) == turn.id
        receive(db, update(2000))
        assert turn_course.turn_of_message(db, 2) is None
        assert turn_course.find(db, "gone", NOW) is None
