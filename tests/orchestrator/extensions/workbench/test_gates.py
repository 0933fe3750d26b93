"""Gates: what is objected to an edit whose turns were tried."""

from orchestrator.control.trials import (
    SavedTurn,
    TrialChange,
    TrialReport,
    TriedCall,
    TriedStep,
    TriedTurn,
    TurnRecord,
)
from orchestrator.extensions.workbench.gate_settings import GateSettings
from orchestrator.extensions.workbench.gates import GateTrial

TRIAL = GateTrial(
    "work",
    GateSettings(set="daily", at_most=0.05),
    tuple(SavedTurn(set_name="daily", turn=f"turn-{number}") for number in (1, 2)),
    number=12,
)
CALLED = TurnRecord(steps=(TriedStep(model="m", calls=(TriedCall(name="send_mail"),)),))


def report(*tried: TurnRecord, running: bool = False) -> TrialReport:
    """A report on runs of the turns, which have all sent a mail once."""
    runs = tuple(
        TriedTurn(turn_id=f"turn-{number}", done=True, fidelity="same", tried=one, recorded=CALLED)
        for number, one in enumerate(tried, 1)
    )
    return TrialReport(
        id=12,
        kind="test",
        agent_id="work",
        state="running" if running else "done",
        change=TrialChange(),
        at=0,
        turns=runs,
    )


def test_green_gate_objects_to_nothing() -> None:
    """All turns do what they did."""
    assert TRIAL.judge_report(report(CALLED, CALLED)) == ""


def test_red_gate_names_the_turns_and_why() -> None:
    """With the trial in which all of it can be read."""
    assert TRIAL.judge_report(report(CALLED, TurnRecord())) == (
        "the gate 'daily' of agent 'work' is not green: 1 green, 1 red (trial 12);"
        " turn turn-2: same calls: did not call send_mail {}"
    )


def test_gate_that_is_not_done_says_how_far_it_is() -> None:
    """The trial goes on, and the next save shows what came of it."""
    assert "trial 12: 1 of 2 turns" in TRIAL.judge_report(report(CALLED, running=True))
    assert "1 could not be tried" in TRIAL.judge_report(report(CALLED))
