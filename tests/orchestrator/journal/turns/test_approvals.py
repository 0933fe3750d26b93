"""A person's word stands for one call, once."""

from pathlib import Path

from fakes.journal import job, open_turn, opened, planned

from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import approvals, questions, steps, turns
from orchestrator.journal.turns.approvals import LIFETIME, REPEAT_WINDOW
from orchestrator.journal.turns.steps import Call
from thinker.protocol.messages import ToolResult


def asked(db: Database, what: Call, code: str = "c0de", now: int = 0) -> bool:
    """Whether asking about a call made a new question."""
    with job(db):
        return approvals.request_approval(db, what, "it costs money", code, now)[1]


def test_a_question_is_asked_once_and_keeps_its_code(tmp_path: Path) -> None:
    """A resumed turn asks again and finds the question that lies there."""
    with opened(tmp_path) as db:
        turn = open_turn(db)
        (what,) = planned(db, turn.id, "pay")
        assert asked(db, what)
        assert not asked(db, what, "other")
        (waiting,) = approvals.list_pending_approvals(db, 1)
    assert (waiting.code, waiting.tool, waiting.reason) == ("c0de", "pay", "it costs money")


def test_a_granted_call_may_run_once_however_many_try(tmp_path: Path) -> None:
    """The second use finds nothing, and so does a use before the answer."""
    with opened(tmp_path) as db:
        turn = open_turn(db)
        (what,) = planned(db, turn.id, "pay")
        asked(db, what)
        with job(db):
            assert not approvals.use_approval(db, what, 1)
            assert questions.decide_question(db, "c0de", "operator", 1, granted=True) is not None
            assert [approvals.use_approval(db, what, 2) for _ in range(8)] == [True] + [False] * 7
            assert questions.decide_question(db, "c0de", "operator", 3, granted=True) is None


def test_a_keyed_call_that_a_death_cut_off_is_made_again_with_the_same_word(tmp_path: Path) -> None:
    """Its approval stays used; the call that used it may be repeated, no other one."""
    with opened(tmp_path) as db:
        turn = open_turn(db)
        cut_off, other = planned(db, turn.id, "pay", "order")
        asked(db, cut_off)
        with job(db):
            questions.decide_question(db, "c0de", "operator", 1, granted=True)
            assert not approvals.is_used(db, cut_off)
            assert approvals.use_approval(db, cut_off, 2)
            assert approvals.is_used(db, cut_off)
            assert not approvals.is_used(db, other)


def test_an_answer_after_the_time_or_a_denial_lets_nothing_run(tmp_path: Path) -> None:
    """An expired question cannot be granted, a granted one expires too."""
    with opened(tmp_path) as db:
        turn = open_turn(db)
        first, second = planned(db, turn.id, "pay", "order")
        asked(db, first, "one")
        asked(db, second, "two")
        with job(db):
            assert questions.decide_question(db, "one", "operator", LIFETIME, granted=True) is None
            assert questions.decide_question(db, "two", "operator", 1, granted=True) is not None
            assert not approvals.use_approval(db, second, LIFETIME)


def test_changed_arguments_are_another_call(tmp_path: Path) -> None:
    """The approval is bound to what was shown."""
    with opened(tmp_path) as db:
        turn = open_turn(db)
        (what,) = planned(db, turn.id, "pay")
        asked(db, what)
        with job(db):
            questions.decide_question(db, "c0de", "operator", 1, granted=True)
            db.execute("UPDATE approval SET args_hash = 'other'")
            assert not approvals.use_approval(db, what, 2)


def test_a_call_of_unknown_outcome_is_not_repeated_within_a_day(tmp_path: Path) -> None:
    """The same tool with the same arguments in the same chat needs a person's word."""
    with opened(tmp_path) as db:
        turn = open_turn(db)
        (first,) = planned(db, turn.id, "order")
        with job(db):
            steps.mark_intent(db, turn.id, first.seq, 1, 10)
            steps.recover_calls(db, turn.id, frozenset(), 20)
        (again,) = planned(db, turn.id, "order")
        (other,) = planned(db, turn.id, "send")
        assert approvals.repeats_unknown_call(db, again, 30)
        assert not approvals.repeats_unknown_call(db, other, 30)
        assert not approvals.repeats_unknown_call(db, again, 20 + REPEAT_WINDOW)


def test_a_parked_turn_runs_nothing_until_it_goes_on(tmp_path: Path) -> None:
    """Waiting fences steps; going on gives the turn its whole time again."""
    with opened(tmp_path) as db:
        turn = open_turn(db)
        (what,) = planned(db, turn.id, "pay")
        with job(db):
            turns.park(db, turn, "approval")
        assert turns.count_open_turns(db) == 1
        assert turns.find_open_turn(db, turn.chat_key) is None
        with job(db):
            turns.unpark(db, turn, 5_000)
            steps.mark_intent(db, turn.id, what.seq, 1, 5_000)
            steps.finish(db, what, ToolResult(call_id="c", name="pay", content="ok"), 5_001)
        assert turns.load_turn(db, turn.id).deadline > 5_000
