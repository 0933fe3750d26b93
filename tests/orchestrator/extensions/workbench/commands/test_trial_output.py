"""Trials on a terminal: what weighs most comes first."""

import pytest
from fakes.replayed import made, replayed

from orchestrator.control.trials import TrialChange, TrialReport, TriedCall, TriedStep
from orchestrator.extensions.workbench.commands.trial_output import print_report
from orchestrator.extensions.workbench.fidelity import Judgement
from orchestrator.extensions.workbench.trial_reports import build_record, build_tried_turn


def test_effects_come_before_calls_and_steps(capsys: pytest.CaptureFixture[str]) -> None:
    """With what answered each call, and how to go on with what is missing."""
    turn = replayed(made("send_mail", to="ann"), made("look", q="a"), "Sent.")
    call = TriedCall(name="look", key="look/x/1", source="invented")
    steps = [TriedStep(model="m", calls=(call,), exact=False), TriedStep(model="m", text="No.")]
    tried = build_record(turn.question, steps)
    report = TrialReport(
        id=3,
        kind="replay",
        agent_id="work",
        state="stopped",
        change=TrialChange(),
        note="it was stopped",
        at=0,
        turns=(build_tried_turn(turn, 1, tried, Judgement("invented", "made up")),),
        waiting=2,
        usd=0.25,
        tokens=10,
    )
    print_report(report)
    lines = [line for line in capsys.readouterr().out.splitlines() if line]
    assert lines[0] == "trial 3 of work · stopped: it was stopped · $0.2500, 10 tokens"
    assert lines[1] == "turn t1 · invented: made up"
    assert lines[2] == "! send_mail → not called"
    assert lines[3] == "- look: called with other arguments"
    table = "\n".join(lines)
    assert table.index("send_mail [100+10]") < table.index("look (invented)") < table.index("No.")
    assert lines[-1] == "2 runs missing; go on with: orchestrator trial go-on 3"
