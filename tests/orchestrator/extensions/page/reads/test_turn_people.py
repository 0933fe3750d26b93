"""The people of turns."""

from pathlib import Path

from fakes.journal import booted, job, next_turn, planned, receive, update

from orchestrator.extensions.page.reads import turn_people
from orchestrator.journal.inspect import turn_search
from orchestrator.journal.turns import approvals, questions


def test_chat_is_called_by_its_last_sender_and_waits_are_measured(tmp_path: Path) -> None:
    """Only decided questions count; two at the same time count once."""
    with booted(tmp_path) as db:
        receive(db, update(1))
        next_turn(db, "t1")
        first, second = planned(db, "t1", "pay", "send")
        with job(db):
            approvals.request_approval(db, first, "money", "c0de", 1000)
            approvals.request_approval(db, second, "mail", "c0da", 1500)
            questions.decide_question(db, "c0de", "web:ann", 3000, granted=True)
            questions.decide_question(db, "c0da", "web:ann", 2500, granted=False)
        found = turn_people.load_turn_people(db, turn_search.list_turns_by_id(db, ["t1"]))
        assert found.waits == {"t1": 2000}
        ((key, name),) = found.senders.items()
        assert key.startswith("telegram/")
        assert name
