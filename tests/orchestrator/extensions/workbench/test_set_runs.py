"""What the runs of a set say of each turn."""

import pytest

from orchestrator.control.trials import (
    CheckVerdict,
    Fidelity,
    SavedTurn,
    TrialChange,
    TrialReport,
    TriedCall,
    TriedStep,
    TriedTurn,
    TurnRecord,
)
from orchestrator.extensions.workbench.set_runs import (
    ALONE,
    Outcome,
    SetReport,
    fill_verdicts,
    judge_set,
)

LOOK = TriedCall(name="look")
RECORDED = TurnRecord(steps=(TriedStep(model="m", calls=(LOOK,)),), answer="Here.", usd=0.1, ms=5)
OTHER = RECORDED.model_copy(update={"steps": ()})
RED = ("same", OTHER)
GREEN = ("same", RECORDED)
STOPPED = ("stopped", OTHER)
LOST = ("impossible", OTHER)


def run(fidelity: Fidelity, tried: TurnRecord, *, done: bool = True) -> TriedTurn:
    """One run of the turn `t`."""
    return TriedTurn(
        turn_id="t",
        done=done,
        fidelity=fidelity,
        reason="the reason",
        tried=tried,
        recorded=RECORDED,
    )


def make_test(checks: str = "same calls") -> SavedTurn:
    """The turn `t` with these checks."""
    return SavedTurn(set_name="daily", turn="t", checks=checks, question="Where?")


@pytest.mark.parametrize(
    ("runs", "needed", "outcome"),
    [
        ([GREEN], 1, "green"),
        ([RED], 1, "red"),
        ([STOPPED], 1, "open"),
        ([LOST], 1, "impossible"),
        ([GREEN, RED, GREEN], 2, "green"),
        ([GREEN, RED, RED], 2, "red"),
        ([GREEN, RED, STOPPED], 2, "open"),
        ([RED, RED, STOPPED], 2, "red"),
        ([LOST, LOST], 2, "impossible"),
    ],
)
def test_turn_is_green_if_enough_of_its_runs_are(
    runs: list[tuple[Fidelity, TurnRecord]], needed: int, outcome: Outcome
) -> None:
    """A run that did not happen may still have been green."""
    tried = [run(*one) for one in runs]
    (found,) = judge_set([make_test()], tried, len(runs), needed)
    assert found.outcome == outcome
    assert bool(found.why) is (outcome != "green")


def test_turn_that_was_not_reached_is_open() -> None:
    """The trial was stopped before it, or within its runs."""
    (found,) = judge_set([make_test()], [])
    assert (found.outcome, found.why, found.usd) == ("open", "it did not run", None)
    (half,) = judge_set([make_test()], [run("same", RECORDED)], times=2, needed=2)
    assert half.outcome == "open"
    (waiting,) = judge_set([make_test()], [run("same", RECORDED, done=False)])
    assert waiting.outcome == "open"


def test_what_a_model_judges_decides_nothing() -> None:
    """Neither beside other checks nor alone."""
    judged = 'judged by m: "Is it polite?"'
    (beside,) = judge_set([make_test(f"same calls\n{judged}")], [run("same", RECORDED)])
    assert (beside.outcome, len(beside.verdicts)) == ("green", 2)
    (alone,) = judge_set([make_test(judged)], [run("same", RECORDED)])
    assert (alone.outcome, alone.why) == ("open", ALONE)
    assert alone.opinions == (f"{judged}: a model judges this",)


@pytest.mark.parametrize(
    ("tried", "met", "outcome", "why"),
    [
        (RECORDED, False, "green", ""),
        (OTHER, True, "red", "same calls: did not call look {}"),
    ],
)
def test_opinion_of_a_run_stands_beside_what_decides(
    tried: TurnRecord, *, met: bool, outcome: Outcome, why: str
) -> None:
    """It is not among the reasons of an outcome that it did not bring about."""
    line = 'judged by m: "Is it polite?"'
    said = CheckVerdict(check=line, met=met, text="so it seems")
    judged = run("same", tried).model_copy(update={"checks": (said,)})
    (found,) = judge_set([make_test(f"same calls\n{line}")], [judged, judged], times=2, needed=2)
    assert (found.outcome, found.why, found.opinions) == (outcome, why, (f"{line}: so it seems",))
    assert found.verdicts[-1] == said


def test_report_counts_and_names_reasons() -> None:
    """A set without turns is not green."""
    (red,) = judge_set([make_test()], [run("same", OTHER), run("same", OTHER)], times=2, needed=2)
    assert (red.why, red.usd, red.ms) == ("same calls: did not call look {}", 0.2, 10)
    report = SetReport(name="daily", outcomes=(red,))
    assert (report.is_green, report.summary) == (False, "1 red")
    empty = SetReport(name="daily", outcomes=())
    assert (empty.is_green, empty.summary) == (False, "no turns")


def test_runs_of_a_trial_have_the_verdicts_of_their_checks() -> None:
    """A turn that is in no set by now must make the same calls."""
    report = TrialReport(
        id=1,
        kind="test",
        agent_id="work",
        state="done",
        change=TrialChange(),
        at=1,
        turns=(run("same", RECORDED), run("same", OTHER).model_copy(update={"turn_id": "other"})),
    )
    filled = fill_verdicts(report, [make_test("says: /here/")])
    verdicts = [[(one.check, one.met) for one in turn.checks] for turn in filled.turns]
    assert verdicts == [[("says: /here/", True)], [("same calls", False)]]
