"""How much waits, and what is in hand."""

from pathlib import Path

from fakes.ended_turn import began, called, replied
from fakes.journal import booted, call, job, planned, receive, sqlite, update

from orchestrator.extensions.telemetry import queue_lengths
from orchestrator.extensions.telemetry.queue_lengths import QueueLengths
from orchestrator.journal.turns import approvals, turns


def test_what_waits_is_counted_where_it_waits(tmp_path: Path) -> None:
    """A question that has expired waits for no one."""
    with booted(tmp_path) as db:
        answered, parked = began(db, 1), began(db, 2)
        began(db, 3)
        called(db, answered)
        replied(db, answered)
        receive(db, update(4), update(5))
        with job(db):
            turns.end_as_dead_letter(db, began(db, 6), "died thrice", None, 10)
            db.execute("UPDATE turn SET recipe = 'subagent' WHERE state = 'dead'")  # has no notice
        (asked,) = planned(db, parked.id, "pay")
        with job(db):
            approvals.request_approval(db, call(db, parked.id, asked.seq), "because", "c0de", 10)
            turns.park(db, parked, "approval")
        assert queue_lengths.load_queue_lengths(db, 20) == QueueLengths(
            new=2, claimed=2, dead=1, outgoing=1, approvals=1, running=1, waiting=1
        )
        assert queue_lengths.load_queue_lengths(db, 20 + approvals.LIFETIME).approvals == 0


def test_what_waits_is_found_without_reading_what_has_ended(tmp_path: Path) -> None:
    """Each part has an index of its own."""
    with sqlite(tmp_path) as db:
        plan = [
            str(row[3]) for row in db.execute(f"EXPLAIN QUERY PLAN {queue_lengths.LENGTHS}", (1,))
        ]
        assert [step for step in plan if step.startswith("SCAN") and "INDEX" not in step] == [
            "SCAN CONSTANT ROW"
        ]
