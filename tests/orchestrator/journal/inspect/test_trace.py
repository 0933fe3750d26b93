"""The trace says why a call was asked about, and where its arguments were from."""

from pathlib import Path

from fakes.journal import job, open_turn, opened, planned

from orchestrator.journal.inspect import trace
from orchestrator.journal.turns import approvals, questions, steps
from orchestrator.journal.turns.approvals import QuestionDetails
from thinker.protocol.messages import ToolResult


def test_ended_call_shows_its_approval_and_the_sources_of_its_arguments(tmp_path: Path) -> None:
    """In the words of the question."""
    with opened(tmp_path) as db:
        open_turn(db)
        (call,) = planned(db, "t1", "mail", arguments={"to": "eve"})
        details = QuestionDetails({"to": ("web", "x.org", True)})
        with job(db):
            approvals.request_approval(db, call, "it acts", "c0de", 1, details)
            questions.decide_question(db, "c0de", "operator", 2, granted=True)
            assert approvals.use_approval(db, call, 3)
            steps.mark_intent(db, "t1", call.seq, 1, 3)
            result = ToolResult(call_id=call.call_id, name="mail", content="sent")
            steps.finish(db, call, result, 4)
        told = [event.detail for event in trace.load_turn_trace(db, "t1").events]
        (ended,) = [detail for detail in told if "sent" in detail]
        assert "approval c0de, used: it acts" in ended
        assert "to: from the page x.org" in ended
