"""The message of a question has buttons while it is open and tells its outcome afterwards."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from fakes.journal import job, open_turn, opened, planned

from orchestrator.channel_api import Choice
from orchestrator.errors import OrchestratorError
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import approvals, cancellations, outbox, pauses, questions
from orchestrator.journal.turns.approvals import LIFETIME, Approval, QuestionDetails
from orchestrator.journal.turns.outbox import Address, OutboxRow

CHAT = Address("telegram", "1", "7")
NOW = 10


@dataclass
class Asked:
    """An open question about a call."""

    db: Database
    approval: Approval

    def row(self) -> OutboxRow:
        """What is to be sent next in its chat."""
        row = outbox.find_next_row(self.db, CHAT.chat_key)
        assert row is not None
        return row

    def sends(self, message_id: str = "5") -> None:
        """Let the platform take the question."""
        row = self.row()
        with job(self.db):
            outbox.mark_sending(self.db, row.id, "sending", NOW)
            questions.mark_delivered(self.db, row, message_id, NOW)

    def decides(self, *, granted: bool) -> None:
        """Answer it."""
        with job(self.db):
            code = self.approval.code
            assert questions.decide_question(self.db, code, "telegram:7", NOW, granted=granted)

    def choices(self, now: int = NOW) -> tuple[Choice, ...]:
        """The buttons of what is sent next."""
        return questions.build_choices(self.db, self.row(), now)

    def edits(self) -> list[tuple[str | None, str]]:
        """The edits that wait or were made: message and last line."""
        rows = outbox.OUTBOX.select(self.db, "mode = 'edit' ORDER BY id")
        return [(row.ph_id, row.body.rpartition("\n\n")[2]) for row in rows]


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[Asked]:
    """A question that waits to be sent."""
    with opened(tmp_path) as db:
        open_turn(db)
        (call,) = planned(db, "t1", "pay", arguments={"sum": 3})
        with job(db):
            approval, _ = approvals.request_approval(db, call, "policy", "c0de", NOW)
            questions.ask_question(db, approval, CHAT, "May I?", 1, NOW)
        yield Asked(db, approval)


def test_question_of_a_held_agent_stays_open(asked: Asked) -> None:
    """Its call runs elsewhere, where the decision would not be known."""
    held = (pauses.HOLD.format(asked.approval.agent_id), "it moves")
    asked.db.execute("INSERT INTO meta VALUES(?,?)", held)
    with pytest.raises(OrchestratorError, match="cannot go on now: it moves"):
        asked.decides(granted=False)
    assert asked.choices()


def test_an_open_question_has_two_buttons_that_telegram_takes(asked: Asked) -> None:
    """Their data is short and bound to the approval, its call and the chat."""
    approve, deny = asked.choices()
    assert (approve.label, deny.label) == ("Approve once", "Deny")
    assert approve.data[1:] == deny.data[1:]
    assert len(approve.data.encode()) <= 64
    other = outbox.Address("telegram", "1", "8").chat_key
    digest = questions.hash_question([asked.approval], CHAT.chat_key)
    assert digest in approve.data
    assert digest != questions.hash_question([asked.approval], other)


def test_a_decision_replaces_the_message_and_its_buttons_once(asked: Asked) -> None:
    """The text stays, since it says what was decided about."""
    asked.sends()
    asked.decides(granted=True)
    found = approvals.find_approval(asked.db, "c0de")
    assert found is not None
    with job(asked.db):
        questions.show_outcome(asked.db, found, NOW)
    assert asked.row().body == "May I?\n\n\u2705 Approved once by `telegram:7`."
    assert (asked.row().mode, asked.row().ph_id, len(asked.edits())) == ("edit", "5", 1)
    assert asked.choices() == ()


def test_a_decision_before_the_question_is_sent_leaves_it_without_buttons(asked: Asked) -> None:
    """It says what was decided as soon as the platform has it."""
    asked.decides(granted=False)
    assert asked.choices() == ()
    assert asked.edits() == []
    asked.sends()
    assert asked.edits() == [("5", "\u274c Denied by `telegram:7`.")]


def test_a_question_of_a_turn_that_was_stopped_is_withdrawn(asked: Asked) -> None:
    """It cannot be decided any more."""
    asked.sends()
    with job(asked.db):
        key = asked.approval.chat_key
        cancellations.cancel_turn(asked.db, key, "stopped", NOW)
    assert asked.edits() == [("5", "\u274c It is not needed any more: the turn was stopped.")]


def test_a_question_that_expired_says_so(asked: Asked) -> None:
    """Its buttons go when the call is refused."""
    asked.sends()
    late = NOW + LIFETIME
    with job(asked.db):
        questions.show_outcome(asked.db, asked.approval, NOW)
        assert asked.edits() == []
        questions.show_outcome(asked.db, asked.approval, late)
    assert asked.edits() == [("5", "\u231b It has expired without a decision.")]
    assert asked.choices(late) == ()


def test_a_copy_of_the_question_is_replaced_when_it_is_pressed(asked: Asked) -> None:
    """It was sent twice, and the journal knows of one."""
    asked.sends("6")
    asked.decides(granted=True)
    found = approvals.find_approval(asked.db, "c0de")
    assert found is not None
    for _ in range(2):
        with job(asked.db):
            questions.show_outcome(asked.db, found, NOW, "5")
    assert [message for message, _ in asked.edits()] == ["6", "5"]


def ask_about_two(db: Database) -> tuple[Approval, ...]:
    """A question about two calls of a turn of its own, in the same chat."""
    first, second = planned(db, "t1", "pay", "mail")
    with job(db):
        lead, _ = approvals.request_approval(db, first, "policy", "aa", NOW)
        details = QuestionDetails(asked_with=lead.id)
        approvals.request_approval(db, second, "policy", "aa.3", NOW, details)
        return approvals.load_question(db, lead)


def test_a_question_about_several_calls_is_decided_as_one(asked: Asked) -> None:
    """By its own code alone, and only as it was seen; the audit log has all of its tools."""
    db = asked.db
    calls = ask_about_two(db)
    assert [one.code for one in calls] == ["aa", "aa.3"]
    assert approvals.load_question(db, calls[1]) == calls
    with job(db):
        for code, seen in (("aa.3", None), ("aa", calls[0].args_hash), ("aa", "x")):
            wrong = questions.decide_question(db, code, "op", NOW, granted=True, seen=seen)
            assert wrong is None
        seen = questions.hash_calls(calls)
        assert questions.decide_question(db, "aa", "op", NOW, granted=True, seen=seen)
        assert questions.decide_question(db, "aa", "op", NOW, granted=False) is None
    assert [one.state for one in approvals.load_question(db, calls[0])] == ["granted", "granted"]
    assert db.execute("SELECT act FROM audit").fetchall() == [("granted pay, mail",)]
    assert [one.code for one in approvals.list_pending_approvals(db, NOW)] == ["c0de"]


def test_a_button_of_several_calls_is_bound_to_all_of_them(asked: Asked) -> None:
    """Another call in the question is another question."""
    calls = ask_about_two(asked.db)
    assert questions.hash_question(calls, CHAT.chat_key) != questions.hash_question(
        calls[:1], CHAT.chat_key
    )
    with job(asked.db):
        questions.ask_question(asked.db, calls[0], CHAT, "May I?", 1, NOW, '{"Later": "/later"}')
    row = outbox.OUTBOX.find_first(asked.db, "approval_id = ?", calls[0].id)
    assert row is not None
    choices = questions.build_choices(asked.db, row, NOW)
    assert [choice.label for choice in choices] == ["Approve these 2", "Deny", "Later"]
    assert all(len(choice.data.encode()) <= 64 for choice in choices)
    assert questions.build_choices(asked.db, row, NOW + LIFETIME) == ()


def test_where_arguments_are_from_is_kept_with_the_question(asked: Asked) -> None:
    """The page and answers for good need it later."""
    (call,) = planned(asked.db, "t1", "mail")
    details = QuestionDetails({"to": ("web", "x.org", True)}, may_stand=True)
    with job(asked.db):
        made, new = approvals.request_approval(asked.db, call, "why", "bb", NOW, details)
        again = approvals.request_approval(asked.db, call, "other", "cc", NOW)
    assert (made.sources, made.may_stand, new) == ({"to": ("web", "x.org", True)}, True, True)
    assert again == (made, False)
