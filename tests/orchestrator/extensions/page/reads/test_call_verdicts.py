"""Calls that were cut off, and what people found out about them."""

from pathlib import Path

import pytest
from fakes.journal import booted, job, next_turn, planned, receive, update

from orchestrator.errors import UnknownNameError
from orchestrator.extensions.page.reads import call_verdicts
from orchestrator.extensions.page.reads.call_verdicts import VERDICT_MS, CallOutcome
from orchestrator.extensions.upkeep import retention
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import steps

CUT = 1000  # milliseconds since the epoch


def cut_off(db: Database) -> int:
    """A call of turn t1 that was under way when its process ended; its number."""
    receive(db, update(1))
    next_turn(db, "t1")
    (call,) = planned(db, "t1", "send_mail")
    with job(db):
        steps.mark_intent(db, "t1", call.seq, 1, 2)
        steps.recover_calls(db, "t1", frozenset(), CUT)
    return call.seq


def test_cut_off_call_waits_until_a_person_settles_it(tmp_path: Path) -> None:
    """Once, with who it was; the step itself stays as it is."""
    with booted(tmp_path) as db:
        seq = cut_off(db)
        (found,) = call_verdicts.list_unconfirmed_calls(db, CUT, 10)
        assert (found.agent_id, found.tool, found.seq) == ("work", "send_mail", seq)
        with job(db):
            call_verdicts.store_verdict(
                db, CallOutcome("t1", seq, happened=True), "web:ann", CUT + 5
            )
        assert call_verdicts.list_unconfirmed_calls(db, CUT, 10) == []
        verdict = call_verdicts.load_verdicts_of_turn(db, "t1")[seq]
        assert (verdict.happened, verdict.by_user) == (1, "web:ann")
        with pytest.raises(UnknownNameError, match="was settled"):
            call_verdicts.store_verdict(
                db, CallOutcome("t1", seq, happened=False), "web:ann", CUT + 6
            )


def test_old_call_does_not_wait_for_ever(tmp_path: Path) -> None:
    """After a week its outcome helps no one."""
    with booted(tmp_path) as db:
        cut_off(db)
        assert call_verdicts.list_unconfirmed_calls(db, CUT + VERDICT_MS, 10) == []


def test_call_that_ended_has_no_verdict(tmp_path: Path) -> None:
    """Nor has one that does not exist."""
    with booted(tmp_path) as db, pytest.raises(UnknownNameError):
        call_verdicts.store_verdict(db, CallOutcome("t1", 9, happened=True), "web:ann", CUT)


def test_verdict_goes_with_its_turn(tmp_path: Path) -> None:
    """When the turn is old enough, or is erased."""
    with booted(tmp_path) as db:
        seq = cut_off(db)
        with job(db):
            call_verdicts.store_verdict(db, CallOutcome("t1", seq, happened=False), "web:ann", CUT)
            for statement in retention.OF_A_TURN:
                db.execute(statement, ("t1",))
        assert db.execute("SELECT count(*) FROM call_verdict").get == 0
