"""Budgets with what they will come to, and the changes that would save most."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Literal

import htpy as h
from starlette.responses import RedirectResponse

from orchestrator.control import trials
from orchestrator.control.agent_report import AgentReport, BudgetUse
from orchestrator.control.camel_model import CamelModel
from orchestrator.control.roles import Right
from orchestrator.control.trials import TrialEstimate, TrialReport, TrialRequest
from orchestrator.errors import OrchestratorError
from orchestrator.extensions.page import edit_calls
from orchestrator.extensions.page.html import figures
from orchestrator.extensions.page.html.forms import (
    build_link,
    render_button,
    render_hidden_fields,
)
from orchestrator.extensions.page.html.outside_text import (
    show_hidden_characters,
    strip_terminal_codes,
)
from orchestrator.extensions.page.html.tables import ACTIONS, TableColumn, render_table
from orchestrator.extensions.page.html.vocabulary import (
    render_blank,
    render_link_button,
    render_note,
    render_panel,
)
from orchestrator.extensions.page.screen_request import (
    PageScreen,
    ScreenRequest,
    ScreenResult,
    TitledContent,
)
from orchestrator.extensions.page.screens.agent_table import (
    render_budget,
    render_extension,
    render_more_money,
)
from orchestrator.extensions.page.screens.trial_form import describe_estimate
from thinker.protocol.peer import RpcError

COSTS_FORECAST, COSTS_SAVINGS = "costs/forecast", "costs/savings"
ALL = "all agents together"
NO_SAVING = "Nothing is known now that would save money."


class ShownForecast(CamelModel):
    """What an agent, or all together (no name), will have cost, in a sentence."""

    agent_id: str
    text: str


class ShownForecasts(CamelModel):
    """The forecasts of all agents together, and then of each."""

    agents: tuple[ShownForecast, ...] = ()


class ShownSaving(CamelModel):
    """A change that would save money; ``saved_usd`` is known once its ``trial`` was done.

    ``alike`` of ``tried`` turns were answered alike. ``trial_id`` is the newest trial of it.
    """

    agent_id: str
    text: str
    field: str
    value: str
    state: Literal["untried", "running", "stopped", "tried"] = "untried"
    month_usd: float = 0.0
    saved_usd: float | None = None
    tried: int = 0
    alike: int = 0
    trial: TrialRequest
    trial_id: int | None = None


class ShownSavings(CamelModel):
    """The changes that would save most; ``note`` says why there are none, or what is missing."""

    savings: tuple[ShownSaving, ...] = ()
    note: str = ""


async def load_forecasts(request: ScreenRequest) -> Sequence[ShownForecast]:
    """Return what a day and a month will have cost; nothing where no extension foresees it."""
    try:
        found = await edit_calls.ask_extension(request, COSTS_FORECAST, None, ShownForecasts)
    except (OrchestratorError, RpcError):
        return ()
    return found.agents


def render_budgets(
    request: ScreenRequest,
    agents: Sequence[AgentReport],
    shared: Sequence[BudgetUse] = (),
    forecasts: Sequence[ShownForecast] = (),
) -> h.Node:
    """Render the limits with what is used of them: that of all agents first, then theirs."""
    foreseen = {one.agent_id: strip_terminal_codes(one.text) for one in forecasts}
    rows = []
    if shared:
        dollars = any(use.usd_limit is not None for use in shared)
        more = (
            render_extension(request, "") if dollars and request.has_right(Right.CHANGE) else None
        )
        rows.append((h.b[ALL], [render_budget(use) for use in shared], more))
    rows += [
        (
            h.b[show_hidden_characters(agent.agent_id)],
            [
                [render_budget(use) for use in agent.budgets],
                h.div(class_="soft")[foreseen.get(agent.agent_id, "")],
            ],
            render_more_money(request, agent),
        )
        for agent in agents
        if agent.budgets
    ]
    total = foreseen.get("")
    if not rows and not total:
        return None
    return render_panel(
        "Budgets" if rows else "What it will come to",
        h.p[total] if total else None,
        render_table(
            "Budgets", (TableColumn("Agent", "id"), TableColumn("Used", "grow"), ACTIONS), rows
        )
        if rows
        else None,
    )


@edit_calls.need_daemon
async def _show_savings(request: ScreenRequest) -> ScreenResult:
    found = await edit_calls.ask_extension(request, COSTS_SAVINGS, None, ShownSavings)
    number = request.query.get("try", "")
    if not number.isdigit() or int(number) >= len(found.savings):
        return render_savings(request, found)
    saving = found.savings[int(number)]
    estimate = await edit_calls.ask_extension(
        request, trials.TRIAL_ESTIMATE, saving.trial, TrialEstimate
    )
    same = request.form.get("value") == saving.value
    if request.form and same and not estimate.problem and request.has_right(Right.CHANGE):
        trial = await edit_calls.ask_extension(
            request, trials.TRIAL_START, saving.trial, TrialReport
        )
        return RedirectResponse(build_link("trials", str(trial.id)), HTTPStatus.SEE_OTHER)
    return render_saving_question(request, saving, estimate)


def render_savings(request: ScreenRequest, found: ShownSavings) -> TitledContent:
    """Render the changes that would save most, each with what is known of it."""
    note = strip_terminal_codes(found.note)
    return TitledContent(
        "What would save most",
        [
            render_note(note) if note and found.savings else None,
            render_panel(
                "Found in the last 30 days",
                h.ul(class_="items")[
                    (
                        _render_saving(request, one, number)
                        for number, one in enumerate(found.savings)
                    )
                ],
            )
            if found.savings
            else render_blank(note or NO_SAVING, icon="costs"),
        ],
        lead="A figure is said only after it was tried on your own turns.",
        actions=render_link_button("Costs", "/costs"),
    )


def _render_saving(request: ScreenRequest, one: ShownSaving, number: int) -> h.Element:
    changes = request.has_right(Right.CHANGE)
    trial = None
    if one.trial_id is not None:
        words = f"Trial {one.trial_id}{' runs' if one.state == 'running' else ''}"
        trial = h.a(href=build_link("trials", str(one.trial_id)))[words]
    return h.li[
        h.p[h.b[strip_terminal_codes(one.text)]],
        h.p(class_="soft")[_describe_saving(one)],
        h.div(class_="row")[
            render_link_button("Try it", build_link("costs", "savings", try_=number), "do")
            if changes and one.state in ("untried", "stopped")
            else None,
            render_link_button("The agent", build_link("agents", one.agent_id))
            if one.state == "tried"
            else None,
            trial,
        ],
    ]


def _describe_saving(one: ShownSaving) -> str:
    name = show_hidden_characters(one.agent_id)
    cost = f"{name} costs about {figures.format_round_usd(one.month_usd)} a month"
    if one.saved_usd is None:
        return f"{cost}; what this saves is not known before it is tried."
    alike = f"{one.alike} of {figures.format_plural(one.tried, 'turn')} answered alike"
    return f"{cost}; this would save about {figures.format_round_usd(one.saved_usd)}; {alike}."


def render_saving_question(
    request: ScreenRequest, one: ShownSaving, estimate: TrialEstimate
) -> TitledContent:
    """Render what trying a change may cost, and the button that tries it."""
    limit = one.trial.limit_usd
    return TitledContent(
        "Try what would save",
        render_panel(
            "What it may cost",
            h.p[h.b[strip_terminal_codes(one.text)]],
            h.p[describe_estimate(estimate)],
            h.p[f"It stops at {figures.format_round_usd(limit)}."] if limit else None,
            render_note(strip_terminal_codes(estimate.problem), kind="bad")
            if estimate.problem
            else None,
            h.form(method="post", class_="row")[
                render_hidden_fields(request, {"value": one.value}),
                None if estimate.problem else render_button("Run", "do"),
                render_link_button("Back", "/costs/savings"),
            ],
        ),
    )


SCREENS = (
    PageScreen(
        "/costs/savings",
        "What would save most",
        Right.READ,
        _show_savings,
        "Costs",
        from_journal=False,
        posts=True,
    ),
)
