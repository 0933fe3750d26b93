"""What a model did otherwise: counted, and told with the gravest first."""

from random import Random
from typing import Any

import pytest

from orchestrator.control.trials import (
    Fidelity,
    ResultSource,
    TrialChange,
    TrialReport,
    TriedCall,
    TriedStep,
    TriedTurn,
    TurnRecord,
)
from orchestrator.extensions.workbench.switch_costs import TriedUse
from orchestrator.extensions.workbench.switch_report import (
    Pace,
    SwitchReport,
    ToolShift,
    compare_turns,
    list_tried_uses,
)

ANSWER = "The train leaves at 12:40 from platform seven."


def look(about: str = "train") -> TriedCall:
    """A call without effects."""
    return TriedCall(name="web_search", arguments={"q": about}, key=f"web_search/{about}/1")


def mail(to: str = "bob", nth: int = 1, **more: Any) -> TriedCall:
    """A call with effects."""
    key = f"send_mail/{to}/{nth}"
    return TriedCall(name="send_mail", arguments={"to": to}, key=key, effect=True, **more)


def record(*calls: TriedCall, answer: str = ANSWER, ms: int = 1000) -> TurnRecord:
    """A turn with one step for the calls and one for the answer."""
    steps = (
        TriedStep(model="m", calls=calls, prompt=100, completion=10, cached=40),
        TriedStep(model="m", text=answer, prompt=120, completion=20, cached=60),
    )
    return TurnRecord(question="Is it on time?", steps=steps, answer=answer, ms=ms)


def turn(
    name: str,
    recorded: TurnRecord,
    tried: TurnRecord,
    fidelity: Fidelity = "same",
    **more: Any,
) -> TriedTurn:
    """A run that ended."""
    return TriedTurn(
        turn_id=name, done=True, fidelity=fidelity, recorded=recorded, tried=tried, **more
    )


def report(*turns: TriedTurn, **more: Any) -> SwitchReport:
    """What is said of these runs."""
    return compare_turns(trial(*turns, **more))


def trial(*turns: TriedTurn, **more: Any) -> TrialReport:
    """A trial of another model that has ended."""
    change = TrialChange(model="groq/llama")
    return TrialReport(
        id=3, kind="switch", agent_id="work", state="done", change=change, at=1, turns=turns, **more
    )


def test_runs_with_the_same_calls_and_near_words_are_alike() -> None:
    """The order of parallel calls does not matter, nor do a few words."""
    same = record(look(), mail())
    near = record(mail(), look(), answer="The train leaves at 12:40, platform seven.")
    found = report(turn("a", same, near), turn("b", same, same, "exact"))
    assert (found.runs, found.alike, found.otherwise, found.differences) == (2, 2, 0, ())
    assert (found.gained, found.lost, found.stopped, found.model) == (0, 0, 0, "groq/llama")


def differing_turns() -> list[TriedTurn]:
    """Runs that differ in all ways; those with effects are named so."""
    plain, sent = record(look()), record(look(), mail())
    return [
        turn("effect lost", sent, plain),
        turn("effect gained", plain, sent),
        turn("effect otherwise", sent, record(look(), mail("eve"))),
        turn("effect twice", sent, record(look(), mail(), mail(nth=2))),
        turn("effect stopped", plain, record(look(), mail(source="none")), "stopped"),
        turn("stopped", plain, record(look("bus")), "stopped", reason="web_search is new"),
        turn("calls", plain, record(look("bus"))),
        turn("calls left out", plain, record()),
        turn("text", plain, record(look(), answer="I cannot know.")),
        turn("length", plain, record(look(), answer=f"{ANSWER} Bring an umbrella.")),
        turn("same", plain, plain),
    ]


@pytest.mark.parametrize("seed", range(10))
def test_every_difference_of_effects_is_listed_first(seed: int) -> None:
    """In whatever order the turns come; then stops, calls, text, length."""
    turns = differing_turns()
    Random(seed).shuffle(turns)  # noqa: S311 - decides no secret
    found = report(*turns)
    kinds = [one.kind for one in found.differences]
    assert {one.turn_id for one in found.differences[:5]} == {
        one.turn_id for one in turns if one.turn_id.startswith("effect")
    }
    assert kinds == ["effect"] * 5 + ["stopped"] + ["calls"] * 2 + ["text", "length"]
    assert (found.gained, found.lost) == (4, 2)
    assert (found.alike, found.otherwise, found.stopped) == (2, 6, 2)


def test_difference_is_told_as_before_and_after() -> None:
    """With the arguments, and what is missing on a side."""
    said = {one.turn_id: one.says for one in report(*differing_turns()).differences}
    assert said["effect lost"] == 'send_mail {"to": "bob"} → not called'
    assert said["effect gained"] == 'not called → send_mail {"to": "bob"}'
    assert said["effect otherwise"] == 'send_mail {"to": "bob"} → send_mail {"to": "eve"}'
    assert said["stopped"].startswith("web_search is new; web_search")
    assert said["text"] == f"{ANSWER} → I cannot know."
    assert said["length"] == "46 → 65 characters"


def test_calls_are_counted_by_their_tools() -> None:
    """The most frequent change first."""
    shifts = report(*differing_turns()).shifts
    assert shifts[0].runs == max(shift.runs for shift in shifts)
    assert ToolShift(before="web_search", after="web_search", runs=1) in shifts
    assert ToolShift(before="not called", after="send_mail", runs=2) in shifts


@pytest.mark.parametrize("source", ["rejected", "denied"])
def test_call_that_would_not_have_run_is_no_effect(source: ResultSource) -> None:
    """As a policy or its arguments forbid it; nor does a recorded effect that failed count."""
    plain, failed = record(look()), record(look(), mail(failed=True))
    found = report(
        turn("a", plain, record(look(), mail(source=source))), turn("b", failed, record(look()))
    )
    assert (found.gained, found.lost) == (0, 0)
    assert [one.kind for one in found.differences] == ["calls", "calls"]


def test_what_was_not_tried_is_said_and_not_counted() -> None:
    """With the reason of each."""
    plain = record(look())
    found = report(
        turn("a", plain, plain, "impossible", reason="a picture is gone"),
        turn("b", plain, plain, "impossible", reason="a picture is gone"),
        turn("c", plain, plain, "invented"),
        TriedTurn(turn_id="d"),
        waiting=1,
    )
    assert found.runs == 1
    assert found.unsaid == (
        "1 not tried: the trial stopped before",
        "2 impossible to try: a picture is gone",
        "1 with results that are invented or may differ from the world by now",
        "every turn was tried once; another run may differ",
    )


def test_times_are_those_of_whole_runs() -> None:
    """One that stopped was short for another reason."""
    before, after = record(look(), ms=1000), record(look(), ms=500)
    quick = record(look(), ms=1)
    found = report(turn("a", before, after), turn("b", before, quick, "stopped"))
    assert (found.pace_before, found.pace_after) == (
        Pace(median=1000, p95=1000),
        Pace(median=500, p95=500),
    )
    assert report().pace_before is None


def test_tokens_of_a_turn_are_the_mean_of_its_runs() -> None:
    """Of those that ended."""
    plain, long = record(look()), record(look(), ms=1)
    dear = long.model_copy(update={"steps": long.steps * 3})
    found = list_tried_uses(
        trial(
            turn("a", plain, plain),
            turn("a", plain, dear, nth=2),
            turn("b", plain, plain, "stopped"),
            turn("c", plain, plain, "impossible"),
        )
    )
    assert found == {"a": TriedUse(440, 60, 200)}
