"""The number of things that wait for a person."""

from pathlib import Path

from fakes.journal import booted, job, next_turn, planned, receive, update

from orchestrator.extensions.page.reads import call_verdicts, decision_log, waiting
from orchestrator.extensions.page.reads.call_verdicts import CallOutcome
from orchestrator.journal.access import pairing, tool_pins
from orchestrator.journal.turns import pauses, steps
from orchestrator.journal.turns.outbox import Address


def test_everything_that_waits_counts_until_it_runs_out(tmp_path: Path) -> None:
    """A chat, a changed tool and a pause."""
    with booted(tmp_path) as db:
        assert waiting.count_waiting_items(db, 0) == 0
        pairing.request_pairing(db, Address("telegram", "1", "7"), "Ann", "AAAA", 0)
        tool_pins.compare_with_pins(db, "wiki", {"search": "1"}, 0)
        tool_pins.compare_with_pins(db, "wiki", {"search": "2", "late": "3"}, 1)
        pauses.begin_pause(db, "home", "operator", "a rest", "operator", 2)
        assert waiting.count_waiting_items(db, 3) == 4
        assert waiting.count_waiting_items(db, pairing.CODE_LIFETIME + 1) == 3


def test_cut_off_call_counts_until_a_person_settles_it(tmp_path: Path) -> None:
    """Then it is among the decisions, with who made it."""
    with booted(tmp_path) as db:
        receive(db, update(1))
        next_turn(db, "t1")
        (call,) = planned(db, "t1", "send_mail")
        with job(db):
            steps.mark_intent(db, "t1", call.seq, 1, 2)
            steps.recover_calls(db, "t1", frozenset(), 1000)
        assert waiting.count_waiting_items(db, 1000) == 1
        with job(db):
            happened = CallOutcome("t1", call.seq, happened=True)
            call_verdicts.store_verdict(db, happened, "web:ann", 1005)
        assert waiting.count_waiting_items(db, 1000) == 0
        assert decision_log.list_recent_decisions(db, 1)[0][1:3] == ("web:ann", "call happened")
