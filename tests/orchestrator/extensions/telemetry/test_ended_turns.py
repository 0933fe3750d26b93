"""Turns and deliveries are found by their ends, once."""

from dataclasses import asdict
from pathlib import Path

from fakes.ended_turn import (
    MODEL,
    SECRET,
    TIMING,
    began,
    called,
    delivered,
    lived,
    replied,
    turn_id,
)
from fakes.journal import booted, job, sqlite

from orchestrator.extensions.telemetry import ended_turns, row_marks
from orchestrator.extensions.telemetry.ended_turns import DeliveryEnd, TurnEnd
from orchestrator.extensions.telemetry.row_marks import RowMark
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import cancellations, outbox, turns
from orchestrator.journal.turns.outbox import OutboxPart

NOW = 9_000_000_000_000


def ends(db: Database, most: int = 1) -> list[TurnEnd | DeliveryEnd]:
    """All ends, read in parts."""
    mark, found, upto = RowMark(), [], row_marks.find_settled_ids(db)
    while (work := ended_turns.load_ended_work(db, mark, most, NOW, upto)).mark.id != mark.id:
        mark = work.mark
        found += work.ends
    return found


def names(found: list[TurnEnd | DeliveryEnd]) -> list[str]:
    """What ended."""
    return [
        f"{end.turn.id} {end.turn.state}"
        if isinstance(end, TurnEnd)
        else f"{end.message.turn_id} part {end.message.part} {end.state}"
        for end in found
    ]


def test_each_end_is_found_once_however_much_is_read_at_a_time(tmp_path: Path) -> None:
    """A turn ends after its deliveries, and one that is stopped or given up before them."""
    with booted(tmp_path) as db:
        lived(db, 1)
        stopped, dead, waits = began(db, 2), began(db, 3), began(db, 4)
        called(db, waits)
        with job(db):
            cancellations.cancel_turn(db, stopped.chat_key, "stopped", 10)
            turns.end_as_dead_letter(db, dead, "died thrice", "Sorry", 10)
        delivered(db)
        expected = [
            f"{turn_id(1)} part 0 delivered",
            f"{turn_id(1)} closed",
            f"{turn_id(2)} cancelled",
            f"{turn_id(3)} dead",
            f"{turn_id(3)} part 0 delivered",
        ]
        assert names(ends(db)) == names(ends(db, 2)) == names(ends(db, 64)) == expected
        replied(db, waits)
        assert names(ends(db)) == expected
        delivered(db)
        assert names(ends(db))[len(expected) :] == [
            f"{turn_id(4)} part 0 delivered",
            f"{turn_id(4)} closed",
        ]


def test_message_of_unknown_delivery_ends_once(tmp_path: Path) -> None:
    """Although it is abandoned later."""
    with booted(tmp_path) as db:
        turn = began(db, 1)
        replied(db, turn)
        with job(db):
            (row,) = outbox.list_due_rows(db, "telegram")
            outbox.mark_sending(db, row.id, "sending", 6000)
            outbox.mark_unconfirmed(db, row.id, "cut", 6000, 0)
            outbox.pop_unconfirmed(db, turn.chat_key, 7000)
        assert names(ends(db)) == [f"{turn.id} part 0 unknown", f"{turn.id} closed"]


def test_preview_that_became_no_reply_was_not_delivered(tmp_path: Path) -> None:
    """It has no final text."""
    with booted(tmp_path) as db:
        turn = began(db, 1)
        with job(db):
            address = outbox.Address("telegram", "1", f"{SECRET}1")
            outbox.start_preview(db, turn.id, address, OutboxPart("so far"), 10)
            turns.end_with_reply(db, turn, (), "edit", ("done", None), 20)
            db.execute("UPDATE turn SET recipe = 'subagent'")  # which may end in silence
        assert names(ends(db)) == [f"{turn.id} closed"]


def test_what_was_measured_comes_along_and_no_text_does(tmp_path: Path) -> None:
    """Times, tokens, costs and the wait for a person."""
    with booted(tmp_path) as db:
        turn = began(db, 1)
        called(db, turn, approved=True)
        replied(db, turn)
        delivered(db)
        _, end = ends(db)
        assert isinstance(end, TurnEnd)
        assert (end.turn.came, end.turn.began, end.turn.ended) == (500, 800, 6000)
        assert (end.turn.channel, end.turn.stop_reason) == ("telegram", "done")
        model, tool = end.steps
        assert (model.name, model.timing) == (MODEL, TIMING)
        assert (model.prompt, model.cached, model.completion) == (900, 400, 20)
        assert end.usd == {1: 0.25}
        assert (tool.began, tool.ended, tool.asked, tool.decided) == (4000, 5000, 3000, 4000)
        assert tool.verdict == "used"
        told = str([asdict(end.turn), *map(asdict, end.steps)])
        assert SECRET not in told.replace(f"busy with {SECRET}", "")


def test_erased_turn_is_passed_over(tmp_path: Path) -> None:
    """Its rows are gone before they were read."""
    with booted(tmp_path) as db:
        lived(db, 1)
        for table in ("transition", "outbox", "step", "model_call", "inbox"):
            db.execute(f"DELETE FROM {table}")  # noqa: S608 - names of the schema
        db.execute("DELETE FROM turn")
        lived(db, 2)
        assert names(ends(db)) == [f"{turn_id(2)} part 0 delivered", f"{turn_id(2)} closed"]


def test_only_what_is_new_is_read(tmp_path: Path) -> None:
    """However long the journal is."""
    with sqlite(tmp_path) as db:
        query = f"SELECT id FROM transition WHERE {ended_turns.ENDS_BEHIND}"  # noqa: S608 - as there
        plan = [str(row[3]) for row in db.execute(f"EXPLAIN QUERY PLAN {query}", (1, 2, 3))]
        assert plan[0] == "SEARCH transition USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"
        assert [part for part in plan if part.startswith("SCAN")] == []
