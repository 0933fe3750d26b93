"""Savings as trials have shown them: a figure is said of a change that was tried alone."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias, TypeVar

from pydantic import BaseModel, JsonValue

from orchestrator.control.trials import (
    TRIAL_LIST,
    TRIAL_SHOW,
    TrialNumber,
    TrialReport,
    TrialReports,
)
from orchestrator.extensions.spending_advice.cost_answers import Saving

T = TypeVar("T", bound=BaseModel)
Ask: TypeAlias = Callable[[str, JsonValue], Awaitable[object]]
COUNTED = frozenset({"exact", "same"})  # runs that can be told from their record


async def add_trials(savings: Sequence[Saving], ask: Ask) -> tuple[Saving, ...]:
    """Return savings with what their newest trial has shown; ``ask`` calls a control method."""
    trials = read_answer(TrialReports, await ask(TRIAL_LIST, None)).trials
    tried = []
    for saving in savings:
        newest = next((one for one in trials if is_trial_of(one, saving)), None)
        if newest is not None:
            number = TrialNumber(id=newest.id).model_dump(mode="json")
            whole = read_answer(TrialReport, await ask(TRIAL_SHOW, number))
            tried.append(add_outcome(saving, whole))
        else:
            tried.append(saving)
    return tuple(tried)


def is_trial_of(report: TrialReport, saving: Saving) -> bool:
    """Return whether a trial tried this very change."""
    asked = saving.trial
    return (report.agent_id, report.note, report.change) == (
        saving.agent_id,
        asked.note,
        asked.change,
    )


def add_outcome(saving: Saving, report: TrialReport) -> Saving:
    """Return a saving with what a trial has shown of it so far."""
    if report.state != "done":
        return saving.model_copy(update={"state": report.state, "trial_id": report.id})
    before = after = 0.0
    counted = alike = 0
    for turn in report.turns:
        recorded, tried = turn.recorded.usd, turn.tried.usd
        if turn.fidelity in COUNTED and recorded is not None and tried is not None:
            before, after = before + recorded, after + tried
            counted, alike = counted + 1, alike + (turn.alike is True)
    found = {
        "state": "tried",
        "trial_id": report.id,
        "tried": counted,
        "alike": alike,
        "saved_usd": round(saving.month_usd * (1 - after / before), 4) if before else None,
    }
    return saving.model_copy(update=found)


def read_answer(model: type[T], answer: object) -> T:
    """Return the answer of another part as a model of the wire."""
    return answer if isinstance(answer, model) else model.model_validate(answer)
