"""How far a run can be told from its record."""

import pytest
from fakes.replayed import made, replayed

from orchestrator.control.trials import ResultSource, TriedCall, TriedStep, TurnRecord
from orchestrator.extensions.workbench.fidelity import (
    RunFacts,
    are_near,
    describe_differences,
    is_alike,
    judge_run,
)
from orchestrator.extensions.workbench.matching import compute_call_digest
from orchestrator.extensions.workbench.trial_reports import (
    build_record,
    describe_recorded_turn,
)


def step(
    *calls: tuple[str, str],
    text: str = "",
    exact: bool | None = True,
    source: ResultSource = "recorded",
) -> TriedStep:
    """A step with calls of a tool and its only argument."""
    tried = []
    for name, value in calls:
        field = "q" if name == "look" else "to"
        digest = compute_call_digest(name, {field: value})
        key = f"{name}/{digest[:16]}/1"
        effect = name != "look"
        tried.append(TriedCall(name=name, key=key, effect=effect, source=source))
    return TriedStep(model="m", text=text, calls=tuple(tried), exact=exact)


def record(*steps: TriedStep) -> TurnRecord:
    """A run of these steps."""
    return build_record("hello", steps)


def test_unchanged_run_with_all_bytes_is_exact() -> None:
    """A single other request makes it the same at most, and the reason counts them."""
    whole = record(step(("look", "a")), step(text="Hi."))
    assert judge_run(RunFacts(whole, 2, changed=False)).fidelity == "exact"
    other = record(step(("look", "a")), step(text="Hi.", exact=False))
    found = judge_run(RunFacts(other, 2, changed=False))
    assert found == ("same", "exact for 1 of 2 requests")
    shorter = record(step(text="Hi."))
    assert judge_run(RunFacts(shorter, 2, changed=False)).fidelity == "same"
    assert judge_run(RunFacts(whole, 2, changed=True)).fidelity == "same"


def test_record_without_digests_is_never_exact() -> None:
    """Nothing was compared."""
    unknown = record(step(text="Hi.", exact=None))
    assert judge_run(RunFacts(unknown, 1, changed=False)).fidelity == "same"


@pytest.mark.parametrize("source", ["invented", "typed", "stale"])
def test_run_with_a_result_that_is_not_its_own_is_invented(source: ResultSource) -> None:
    """However many requests are exact; the call is named."""
    run = record(step(("look", "a"), source=source), step(text="Hi."))
    found = judge_run(RunFacts(run, 2, changed=False))
    assert found.fidelity == "invented"
    assert "look" in found.reason


def test_stopped_and_impossible_runs_say_why() -> None:
    """Impossible weighs more."""
    run = record(step(text="Hi."))
    stopped = RunFacts(run, 1, changed=False, stopped="no record")
    assert judge_run(stopped) == ("stopped", "no record")
    impossible = stopped._replace(impossible="hooks")
    assert judge_run(impossible) == ("impossible", "hooks")


def test_runs_with_the_same_calls_and_nearly_the_same_words_are_alike() -> None:
    """Another call, or other words, are not."""
    recorded = record(step(("look", "a")), step(text="The train leaves at 12:40 from Bonn."))
    near = record(step(("look", "a")), step(text="the train leaves at 12:40, from Bonn!"))
    other = record(step(("look", "b")), step(text="The train leaves at 12:40 from Bonn."))
    assert is_alike(near, recorded)
    assert not is_alike(other, recorded)
    assert not are_near("The train leaves at noon.", "I do not know.")
    assert are_near("", " ")


def test_differences_name_what_was_and_was_not_called() -> None:
    """Effects apart from reads; other arguments of one tool are one sentence."""
    recorded = record(step(("send_mail", "ann"), ("look", "a")))
    lost = record(step(text="Hi."))
    other = record(step(("send_mail", "bob"), ("look", "a")))
    more = record(step(("send_mail", "ann"), ("send_mail", "eve"), ("look", "a")))
    assert describe_differences(lost, recorded, effects=True) == ("send_mail → not called",)
    assert describe_differences(lost, recorded, effects=False) == ("look → not called",)
    sentence = "send_mail: called with other arguments"
    assert describe_differences(other, recorded, effects=True) == (sentence,)
    sentence = "send_mail: called, which it was not"
    assert describe_differences(more, recorded, effects=True) == (sentence,)
    assert describe_differences(more, recorded, effects=False) == ()


def test_recorded_turn_is_described_with_keys_of_its_calls() -> None:
    """They are those under which a trial asks for results."""
    found = describe_recorded_turn(replayed(made("look", "sunny", q="a"), "Hi."))
    (call,) = found.steps[0].calls
    assert (call.source, call.result, call.effect) == ("recorded", "sunny", False)
    assert call.key == step(("look", "a")).calls[0].key
    assert found.answer == "Hi."
