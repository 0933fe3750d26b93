"""Calls of a trial find the recorded ones that they repeat."""

from pathlib import Path

from fakes.journal import booted, job, open_turn, planned
from fakes.replayed import made

from orchestrator.extensions.workbench.matching import CallMatcher, compute_call_digest


def test_equal_calls_are_told_apart_by_how_often_they_were_made() -> None:
    """Each gets the result of its own turn; a third has none."""
    matcher = CallMatcher([made("look", "first", q="a"), made("look", "second", q="a")])
    digest = compute_call_digest("look", {"q": "a"})
    found = [matcher.find_call(matcher.record_call("look", digest, effect=False)) for _ in range(3)]
    results = [one and one.call.result and one.call.result.content for one in found]
    assert results == ["first", "second", None]


def test_result_after_another_effect_is_stale() -> None:
    """Whether the effect is missing, another one or in another order; equal ones are not."""
    mails = made("send_mail", to="ann"), made("send_mail", to="bob")
    record = [*mails, made("look", "sunny", q="a")]
    look = compute_call_digest("look", {"q": "a"})

    def is_stale(*recipients: str) -> bool:
        matcher = CallMatcher(record)
        for to in recipients:
            digest = compute_call_digest("send_mail", {"to": to})
            matcher.record_call("send_mail", digest, effect=True)
        found = matcher.find_call(matcher.record_call("look", look, effect=False))
        assert found is not None
        return found.stale

    assert not is_stale("ann", "bob")
    assert is_stale("ann")
    assert is_stale("bob", "ann")
    assert is_stale("ann", "bob", "eve")


def test_call_of_unknown_outcome_answers_nothing() -> None:
    """Nothing is known of its result."""
    matcher = CallMatcher([made("send_mail", None, to="ann")])
    digest = compute_call_digest("send_mail", {"to": "ann"})
    assert matcher.find_call(matcher.record_call("send_mail", digest, effect=True)) is None


def test_digest_is_that_of_the_journal(tmp_path: Path) -> None:
    """Whatever the order of the arguments."""
    with booted(tmp_path) as db:
        with job(db):
            open_turn(db)
        (call,) = planned(db, "t1", "add", arguments={"b": 1, "a": [None, "ü"]})
        stored = db.execute("SELECT args_hash FROM step WHERE kind = 'tool'").get
        assert stored == compute_call_digest("add", call.arguments)
    assert compute_call_digest("a", {"x": 1, "y": 2}) == compute_call_digest("a", {"y": 2, "x": 1})
