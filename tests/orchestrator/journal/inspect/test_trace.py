"""What names messages and turns, and what the trace of one says."""

from dataclasses import replace
from pathlib import Path

import pytest
from fakes.journal import booted, job, next_turn, open_turn, opened, planned, receive, update

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


FULL = "019a0000{:04x}0123456789abcd{:08x}"  # the form of a turn's id


def test_turn_is_named_by_the_beginning_and_by_the_end_of_its_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name of eight characters finds any turn, a shorter end only one of the newest."""
    ids = [FULL.format(number, 0xABC0 + number) for number in range(4)]
    with booted(tmp_path) as db:
        for number, turn_id in enumerate(ids):
            receive(db, update(number, "hi", str(number)))
            next_turn(db, turn_id, str(number))
        assert trace.list_turns_named(db, ids[0][-8:]) == ids[:1]
        assert trace.list_turns_named(db, ids[1]) == ids[1:2]
        assert trace.list_turns_named(db, ids[2][:12]) == ids[2:3]
        assert trace.list_turns_named(db, "019a") == ids[::-1]
        assert trace.list_turns_named(db, "abc1") == ids[1:2]
        newest = trace.SHORT_ENDING.replace(str(trace.MAX_SEARCHED), "2")
        monkeypatch.setattr(trace, "SHORT_ENDING", newest)
        assert trace.list_turns_named(db, "abc1") == []
        assert trace.list_turns_named(db, "abc2") == ids[2:3]
        assert trace.list_turns_named(db, "") == trace.list_turns_named(db, "none") == []


def test_message_is_named_by_its_channel_and_id_in_every_chat(tmp_path: Path) -> None:
    """Ids of messages are unique within a chat alone."""
    with booted(tmp_path) as db:
        for number, name in ((1, "5"), (2, "5"), (3, "6")):
            receive(db, replace(update(number, "hi", f"{number + 6}"), message_id=name))
        found = trace.list_messages_named(db, "telegram:5")
        assert [row.chat_id for row in found] == ["7", "8"]
        assert [row.id for row in trace.list_messages_named(db, "3")] == [3]
        assert trace.list_messages_named(db, "console:5") == []
