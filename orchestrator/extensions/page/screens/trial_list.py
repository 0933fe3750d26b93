"""All trials, the newest first."""

from collections.abc import Sequence

import htpy as h

from orchestrator.control import trials
from orchestrator.control.roles import Right
from orchestrator.control.trials import TrialReport, TrialReports
from orchestrator.extensions.page import edit_calls
from orchestrator.extensions.page.html import figures
from orchestrator.extensions.page.html.forms import build_link
from orchestrator.extensions.page.html.outside_text import show_hidden_characters
from orchestrator.extensions.page.html.tables import TableColumn, render_table
from orchestrator.extensions.page.html.vocabulary import (
    render_blank,
    render_link_button,
    render_panel,
)
from orchestrator.extensions.page.reads import stamps
from orchestrator.extensions.page.screen_request import (
    PageScreen,
    ScreenRequest,
    ScreenResult,
    TitledContent,
)
from orchestrator.extensions.page.screens import trial_words

ROWS = 50  # of one screen
EMPTY = (
    "Nothing was tried yet. Open a turn and press Try, to see what another model, skill or prompt"
    " would have answered."
)


@edit_calls.need_daemon
async def _show_trials(request: ScreenRequest) -> ScreenResult:
    found = await edit_calls.ask_extension(request, trials.TRIAL_LIST, None, TrialReports)
    return render_trials(request, found)


def render_trials(request: ScreenRequest, found: TrialReports) -> TitledContent:
    """Render the screen."""
    page = request.query.get("page", "1")
    number = int(page) if page.isdigit() and page != "0" else 1
    part = found.trials[(number - 1) * ROWS :][:ROWS]
    columns = (
        TableColumn("Trial", "grow"),
        TableColumn("Agent", "id"),
        "State",
        TableColumn("Cost", "number"),
        TableColumn("Begun", "time"),
    )
    turns = render_link_button("The turns", "/turns", "do")
    table = render_table(
        "Trials",
        columns,
        (_render_trial_row(request, one) for one in part),
        render_blank(EMPTY, turns, "again"),
    )
    more = len(found.trials) > number * ROWS
    return TitledContent(
        "Trials",
        [
            render_panel("All trials", table) if part else table,
            h.p[h.a(href=build_link("trials", page=number + 1))["Older trials"]] if more else None,
        ],
        actions=[
            render_link_button("Tests", "/sets"),
            render_link_button("Try earlier turns", "/try", "do")
            if request.has_right(Right.CHANGE)
            else None,
        ],
    )


def _render_trial_row(request: ScreenRequest, trial: TrialReport) -> Sequence[h.Node]:
    change = trial_words.describe_trial_change(trial.change)
    name = f"{trial_words.KINDS[trial.kind]} {trial.id}"
    return (
        [
            h.a(href=build_link("trials", str(trial.id)), data_row=True)[name],
            h.div(class_="soft")[change],
        ],
        show_hidden_characters(trial.agent_id),
        trial_words.render_trial_state(trial),
        trial_words.format_trial_cost(trial),
        figures.render_recent_moment(trial.at, request.zone, request.now),
    )


SCREENS = (
    PageScreen("/trials", "Trials", Right.READ, _show_trials, "Trials", stamp=stamps.read_trials),
)
