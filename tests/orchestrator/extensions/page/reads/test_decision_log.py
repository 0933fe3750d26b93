"""People's decisions, each once."""

from pathlib import Path

from fakes.journal import booted, job, next_turn, planned, receive, update

from orchestrator.extensions.page.reads import decision_log
from orchestrator.extensions.page.reads.decision_log import AuditEntry, join_effects
from orchestrator.journal.db import audit
from orchestrator.journal.turns import approvals, questions


def test_act_of_the_page_and_its_effect_are_one_decision() -> None:
    """It has the words of the effect, and the name of who pressed the button."""
    act = AuditEntry(1, "web:ann", "pair/approve", '{"code":"AAAA"}')
    effect = AuditEntry(2, "operator", "pairing approved", "telegram:7")
    assert join_effects([effect, act]) == [effect._replace(actor="web:ann")]
    late = effect._replace(at=100_000)
    assert join_effects([late, act]) == [late, act]


def test_failed_act_is_one_attempt() -> None:
    """Only that of the same form."""
    act = AuditEntry(1, "web:ann", "files/save", "{}")
    failure = act._replace(at=2, act="files/save not done")
    assert join_effects([failure, act]) == [failure]
    assert join_effects([failure._replace(subject="x"), act])[1:] == [act]


def test_approval_is_listed_once_with_its_chat_and_reason(tmp_path: Path) -> None:
    """As one decision of the person who answered."""
    with booted(tmp_path) as db:
        receive(db, update(1))
        next_turn(db, "t1")
        (call,) = planned(db, "t1", "pay")
        with job(db):
            approvals.request_approval(db, call, "it costs money", "c0de", 1)
            audit.record_decision(db, "web:ann", "approvals/decide", "{}", 2)
            questions.decide_question(db, "c0de", "web:ann", 2, granted=True)
        (found,) = decision_log.list_recent_decisions(db, 5)
        assert found[1:3] == ("web:ann", "granted pay")
        assert found.chat.startswith("telegram/")
        assert found.reason == "it costs money"
