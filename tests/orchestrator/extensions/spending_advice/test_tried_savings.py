"""A saving's figure is said after its trial, and only of turns that can be compared."""

from pydantic import JsonValue

from orchestrator.control.trials import (
    TRIAL_LIST,
    TRIAL_SHOW,
    Fidelity,
    TrialChange,
    TrialReport,
    TrialReports,
    TrialRequest,
    TrialState,
    TriedTurn,
    TurnRecord,
)
from orchestrator.extensions.spending_advice.cost_answers import Saving
from orchestrator.extensions.spending_advice.tried_savings import add_trials

CHANGE = TrialChange(model="acme/little")
SAVING = Saving(
    agent_id="work",
    kind="model",
    text="Let work use acme/little",
    field="model",
    value="little",
    month_usd=10,
    trial=TrialRequest(turns=("t1", "t2"), change=CHANGE, note="saving: model of work"),
)


def tried(fidelity: Fidelity, before: float | None, after: float | None) -> TriedTurn:
    """A turn that cost so much, and would have cost so much."""
    return TriedTurn(
        turn_id="t1",
        done=True,
        fidelity=fidelity,
        alike=fidelity == "exact",
        tried=TurnRecord(usd=after),
        recorded=TurnRecord(usd=before),
    )


def report(state: TrialState, *turns: TriedTurn, change: TrialChange = CHANGE) -> TrialReport:
    """A trial of the saving, or of another change."""
    return TrialReport(
        id=5,
        kind="switch",
        agent_id="work",
        state=state,
        change=change,
        note=SAVING.trial.note,
        at=1,
        turns=turns,
    )


async def outcome(*reports: TrialReport) -> Saving:
    """The saving, where these trials are known, the newest first."""

    async def ask(method: str, params: JsonValue) -> object:
        if method == TRIAL_LIST:
            return TrialReports(
                trials=tuple(one.model_copy(update={"turns": ()}) for one in reports)
            )
        assert (method, params) == (TRIAL_SHOW, {"id": 5, "brief": False})
        return reports[-1].model_dump(mode="json", by_alias=True)

    (found,) = await add_trials([SAVING], ask)
    return found


async def test_untried_saving_has_no_figure() -> None:
    """A trial of another change tells nothing of this one."""
    assert await outcome() == SAVING
    assert await outcome(report("done", change=TrialChange(model="acme/middle"))) == SAVING


async def test_running_and_stopped_trials_have_no_figure_yet() -> None:
    """The row says that it is tried, and links to the trial."""
    for state in ("running", "stopped"):
        found = await outcome(report(state, tried("exact", 1.0, 0.1)))
        assert (found.state, found.saved_usd, found.trial_id) == (state, None, 5)


async def test_tried_saving_is_the_share_that_the_tried_turns_saved() -> None:
    """Of turns that went as recorded; of the agent's cost in a month."""
    found = await outcome(
        report(
            "done",
            tried("exact", 1.0, 0.2),
            tried("same", 3.0, 0.8),
            tried("stopped", 9.0, 0.1),
            tried("exact", 1.0, None),
        )
    )
    assert (found.state, found.tried, found.alike, found.saved_usd) == ("tried", 2, 1, 7.5)


async def test_trial_without_turns_to_compare_has_no_figure() -> None:
    """It was tried, and nothing can be said."""
    found = await outcome(report("done", tried("impossible", None, None)))
    assert (found.state, found.tried, found.saved_usd) == ("tried", 0, None)
