"""Print trials: the effects of each run first, then its steps beside those of its record."""

from itertools import zip_longest

from orchestrator.cli.output import format_count, print_text
from orchestrator.cli.tables import print_table
from orchestrator.control.trials import TrialEstimate, TrialReport, TriedStep, TriedTurn
from thinker.protocol.names import format_turn_name

MOST = 120  # characters shown of a text
HEAD = ("step", "recorded", "tried", "as recorded")


def print_estimate(found: TrialEstimate) -> None:
    """Print what a trial may cost."""
    dollars = "price unknown"
    if found.low_usd is not None and found.high_usd is not None:
        dollars = f"${found.low_usd:.4f} to ${found.high_usd:.4f}"
    calls = format_count(found.calls, "model call")
    left = "" if found.left_usd is None else f"; ${found.left_usd:.4f} are left for trials"
    print_text(f"{calls}, about {found.tokens:,} tokens, {dollars}{left}")


def print_report(report: TrialReport) -> None:
    """Print a trial with its turns."""
    note = f": {report.note}" if report.note else ""
    cost = f"${report.usd:.4f}, {report.tokens:,} tokens"
    print_text(f"trial {report.id} of {report.agent_id} · {report.state}{note} · {cost}")
    for turn in report.turns:
        print_turn(turn)
    if report.waiting:
        runs = format_count(report.waiting, "run")
        print_text(f"{runs} missing; go on with: orchestrator trial go-on {report.id}")


def print_turn(turn: TriedTurn) -> None:
    """Print one run of a turn."""
    nth = f" · run {turn.nth}" if turn.nth > 1 else ""
    why = f": {turn.reason}" if turn.reason else ""
    print_text(f"\nturn {format_turn_name(turn.turn_id)}{nth} · {turn.fidelity}{why}")
    for sentence in turn.effects:
        print_text(f"! {sentence}")
    for sentence in turn.calls:
        print_text(f"- {sentence}")
    rows = [
        (number, _describe_step(before), _describe_step(after), _describe_exact(after))
        for number, (before, after) in enumerate(
            zip_longest(turn.recorded.steps, turn.tried.steps), 1
        )
    ]
    print_table(_shorten(turn.recorded.question), HEAD, rows)


def _describe_step(step: TriedStep | None) -> str:
    """Return a step's calls with what answered them, or its words."""
    if step is None:
        return ""
    calls = [
        call.name if call.source == "recorded" else f"{call.name} ({call.source})"
        for call in step.calls
    ]
    cost = "" if step.usd is None else f", ${step.usd:.4f}"
    return f"{', '.join(calls) or _shorten(step.text)} [{step.prompt}+{step.completion}{cost}]"


def _describe_exact(step: TriedStep | None) -> str:
    if step is None or step.exact is None:
        return ""
    return "yes" if step.exact else f"no {step.differs}".strip()


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MOST else f"{line[: MOST - 1]}…"
