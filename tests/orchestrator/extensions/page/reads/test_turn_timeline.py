"""The course of a turn in time."""

import time
from pathlib import Path

from fakes.journal import CLASSES, booted, open_turn, planned, receive, step, update

from orchestrator.extensions.page.reads import turn_timeline
from orchestrator.journal.turns import approvals, cancellations, steps, turns, usage
from thinker.protocol.call_timing import CallAttempt, CallTiming
from thinker.protocol.messages import Usage

NOW = 9_000


def test_parts_of_a_turn_stand_in_their_order(tmp_path: Path) -> None:
    """A call that waits for a person goes on until now."""
    with booted(tmp_path) as db:
        turn = open_turn(db)
        _, pay = planned(db, turn.id, "read", "pay")
        approvals.request_approval(db, pay, "because", "c0de", 100)
        usage.record_usage(db, "work", turn.id, "demo", Usage(prompt=5, completion=1), None, 1)
        found = turn_timeline.find_turn_timeline(db, turn.id, NOW)
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
    """Once, with what is known of it."""
    with booted(tmp_path) as db:
        turn = open_turn(db)
        now = round(time.time() * 1000)  # as in the rows beside it, which triggers write
        turns.note_lost_worker(db, turn.id, "agent 'work' hung", now)
        turns.count_process_death(db, turn.id)
        found = turn_timeline.find_turn_timeline(db, turn.id, NOW)
        assert found is not None
        (mark,) = found.marks
        assert mark.text == (
            "the worker died (agent 'work' hung); a new one continued after the last step"
        )
        assert found.turn.deaths == 1
        cut = next(bar for bar in found.bars if bar.about == "cut off")
        assert (cut.began, cut.ended, cut.failed) == (turn.started_at, mark.at, True)


def test_death_that_only_the_message_counts_is_a_mark_too(tmp_path: Path) -> None:
    """With its number."""
    with booted(tmp_path) as db:
        turn = open_turn(db)
        turns.count_process_death(db, turn.id)
        found = turn_timeline.find_turn_timeline(db, turn.id, NOW)
        assert found is not None
        (mark,) = found.marks
        assert "death 1" in mark.text


def test_attempts_of_a_call_and_the_pauses_between_are_parts(tmp_path: Path) -> None:
    """Each with what went wrong."""
    timing = CallTiming(
        began=100,
        ended=900,
        first=800,
        attempts=(
            CallAttempt(model="a", began=100, ended=200, error="429"),
            CallAttempt(model="b", began=500, ended=600, error="503"),
            CallAttempt(model="b", began=700, ended=900, status=200),
        ),
    )
    with booted(tmp_path) as db:
        turn = open_turn(db)
        commit = step(turn.id, "read").model_copy(update={"timing": timing})
        steps.plan(db, commit, CLASSES, turn.epoch, 900)
        found = turn_timeline.find_turn_timeline(db, turn.id, NOW)
        assert found is not None
        shown = [(bar.kind, bar.began, bar.ended, bar.about) for bar in found.bars]
        assert shown[:5] == [
            ("model", 100, 200, "429"),
            ("retry", 200, 500, "before the next attempt"),
            ("model", 500, 600, "503"),
            ("retry", 600, 700, "before the next attempt"),
            ("model", 700, 900, "first word after 100 ms"),
        ]


def test_turn_shows_what_it_is_at_or_was_at_when_it_failed(tmp_path: Path) -> None:
    """While it runs, until now."""
    with booted(tmp_path) as db:
        turn = open_turn(db)
        found = turn_timeline.find_turn_timeline(db, turn.id, NOW)
        assert found is not None
        assert [(bar.kind, bar.ended, bar.open) for bar in found.bars] == [("model", NOW, True)]
        cancellations.cancel_turn(db, turn.chat_key, "stopped by ann", 5_000)
        found = turn_timeline.find_turn_timeline(db, turn.id, NOW)
        assert found is not None
        (last,) = found.bars
        assert (last.ended, last.failed, last.about) == (5_000, True, "stopped by ann")


def test_turn_is_found_by_a_part_of_its_name_and_by_its_message(tmp_path: Path) -> None:
    """Or not at all."""
    with booted(tmp_path) as db:
        turn = open_turn(db, "t1234")
        assert turn_timeline.find_newest_turn(db, "t12") == turn.id
        assert turn_timeline.find_newest_turn(db, "234") == turn.id
        assert turn_timeline.find_newest_turn(db, "nope") is None
        assert turn_timeline.find_turn_of_message(db, 1) == turn.id
        receive(db, update(2000))
        assert turn_timeline.find_turn_of_message(db, 2) is None
        assert turn_timeline.find_turn_timeline(db, "gone", NOW) is None
