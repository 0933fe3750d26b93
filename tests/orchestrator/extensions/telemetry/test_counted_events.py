"""Messages, turns, steps and model calls of a stretch of the journal, counted."""

from pathlib import Path

from fakes.ended_turn import MODEL, began, called, delivered, lived, replied
from fakes.journal import booted, job, planned, receive, sqlite, step, update

from orchestrator.extensions.telemetry import counted_events, row_marks
from orchestrator.extensions.telemetry.counted_events import BOUNDS, CallTally, Durations, RowRange
from orchestrator.journal.turns import cancellations, deadletters, inbox, steps, turns, usage
from orchestrator.journal.turns.inbox import Arrival
from orchestrator.journal.turns.usage import Amount
from thinker.protocol.messages import Usage

ALL = RowRange(0, 1_000_000)


def within(ms: int) -> tuple[int, ...]:
    """The buckets of one duration."""
    return tuple(int(ms <= bound) for bound in BOUNDS)


def test_message_counts_by_what_became_of_it(tmp_path: Path) -> None:
    """A command was answered by no agent, a refused message has no turn."""
    with booted(tmp_path) as db:
        lived(db, 1)
        with job(db):
            arrivals = [
                Arrival(update(2), command=lambda _: None),
                Arrival(update(3), "not paired"),
            ]
            inbox.ingest(db, arrivals, None, 0)
        stopped, dead = began(db, 4), began(db, 5)
        with job(db):
            cancellations.cancel_turn(db, stopped.chat_key, "stopped", 0)
            turns.end_as_dead_letter(db, dead, "died thrice", "Sorry", 0)
            deadletters.drop_dead_letter(db, inbox.list_turn_messages(db, dead.id)[0].id, 0)
        receive(db, update(6))
        found = counted_events.count_ended_messages(db, ALL)
        assert {row.channel for row in found} == {"telegram"}
        assert {row[1:] for row in found} == {
            *(("message", "answered", 1), ("command", "command", 1), ("message", "refused", 1)),
            *(("message", "cancelled", 1), ("message", "dead", 1)),
        }


def test_turn_counts_with_the_stretch_of_its_end(tmp_path: Path) -> None:
    """Its delivery, and the time before, do not count it."""
    with booted(tmp_path) as db:
        turn = began(db, 1)
        called(db, turn)
        before = row_marks.load_last_id(db, "transition")
        assert counted_events.count_ended_turns(db, RowRange(0, before)) == []
        replied(db, turn)
        ended = row_marks.load_last_id(db, "transition")
        (found,) = counted_events.count_ended_turns(db, RowRange(before, ended))
        assert found == ("work", "done", Durations(within(5200), 1, 5200))
        delivered(db)
        assert counted_events.count_ended_turns(db, RowRange(ended, ended + 100)) == []


def test_steps_are_told_apart_by_how_they_ended(tmp_path: Path) -> None:
    """A call that was refused before it ran did not fail; a model's attempts are measured."""
    with booted(tmp_path) as db:
        turn = began(db, 1)
        called(db, turn)
        read, _ = planned(db, turn.id, "read", "note")
        with job(db):
            steps.plan(db, step(turn.id, "nonsense", rejected="no such tool"), {}, 1, 5)
            steps.mark_intent(db, turn.id, read.seq, 1, 5)
        replied(db, turn)
        delivered(db)
        found = {(row.name, row.outcome): row for row in counted_events.count_ended_steps(db, ALL)}
        assert {name: row.steps for name, row in found.items()} == {
            (MODEL, "done"): 1,
            ("demo/demo", "done"): 2,
            ("pay", "done"): 1,
            ("read", "not_run"): 1,
            ("note", "not_run"): 1,
            ("nonsense", "not_run"): 1,
        }
        model = found[MODEL, "done"]
        assert (model.kind, model.agent_id, model.retries) == ("model", "work", 1)
        assert model.whole == Durations(within(2000), 1, 2000)
        assert model.first == Durations(within(700), 1, 700)
        assert found["demo/demo", "done"].whole == Durations((0,) * len(BOUNDS), 0, 0)


def test_call_counts_once_when_it_is_settled(tmp_path: Path) -> None:
    """Until then its number is kept; without an answer it is lost after a time."""
    with booted(tmp_path) as db:
        turn = began(db, 1)
        with job(db):
            usage.reserve_amount(db, "work", turn.id, "m", Amount(50), 10)
            usage.record_usage(
                db, "work", "compaction/1", "n", Usage(prompt=7, completion=1), 0.5, 11
            )
        first = counted_events.count_model_calls(db, RowRange(0, 2), (), 0)
        assert first.tallies == [CallTally("work", "n", "compaction", "answered", 1, 7, 0, 1, 0.5)]
        assert (first.unsettled, first.last) == ((1,), (2, 11))
        waits = counted_events.count_model_calls(db, RowRange(2, 2), (1,), 10)
        assert (waits.tallies, waits.unsettled, waits.last) == ([], (1,), None)
        lost = counted_events.count_model_calls(db, RowRange(2, 2), (1,), 11)
        assert lost.tallies == [CallTally("work", "m", "turn", "lost", 1, 0, 0, 0, None)]
        assert lost.unsettled == ()
        with job(db):
            usage.settle_call(db, "work", turn.id, "m", Usage(prompt=9), None, 12, 1)
        settled = counted_events.count_model_calls(db, RowRange(2, 2), (1,), 0)
        assert settled.tallies == [CallTally("work", "m", "turn", "answered", 1, 9, 0, 0, None)]
        assert settled.unsettled == ()


def test_only_the_stretch_is_read(tmp_path: Path) -> None:
    """However long the journal is; each row of it is followed by its key."""
    with sqlite(tmp_path) as db:
        for query in (counted_events.MESSAGES, counted_events.TURNS, counted_events.STEPS):
            plan = [str(row[3]) for row in db.execute(f"EXPLAIN QUERY PLAN {query}", (1, 2))]
            first, *others = [part for part in plan if part.startswith(("SCAN", "SEARCH"))]
            assert first == "SEARCH t USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"
            assert [part for part in others if part.startswith("SCAN")] == []
        values = (1, 2, "[]", 3)
        plan = [
            str(row[3]) for row in db.execute(f"EXPLAIN QUERY PLAN {counted_events.USED}", values)
        ]
        assert [part for part in plan if part.startswith("SCAN model_call")] == []
