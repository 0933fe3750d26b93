"""A trial: what its runs did otherwise, each beside its record, and what one may do with it."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import NamedTuple

import htpy as h
from starlette.responses import RedirectResponse

from orchestrator.control import trials
from orchestrator.control.roles import Right
from orchestrator.control.trials import (
    TrialContinuation,
    TrialNumber,
    TrialReport,
    TriedCall,
    TriedTurn,
)
from orchestrator.extensions.page import edit_calls
from orchestrator.extensions.page.html import figures
from orchestrator.extensions.page.html.forms import (
    build_link,
    render_act_button,
    render_button,
    render_hidden_fields,
)
from orchestrator.extensions.page.html.outside_text import (
    shorten_text,
    show_hidden_characters,
    strip_terminal_codes,
)
from orchestrator.extensions.page.html.tables import TableColumn, render_table
from orchestrator.extensions.page.html.vocabulary import (
    render_blank,
    render_facts,
    render_field,
    render_link_button,
    render_note,
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
from orchestrator.extensions.page.screens.trial_adoption import render_adoption
from orchestrator.extensions.page.screens.trial_steps import list_open_calls, render_run
from orchestrator.extensions.page.screens.trial_words import format_question
from thinker.protocol.names import format_turn_name

ROWS = 50  # of one screen
MAX_TITLE = 60  # characters of a question
MAX_RESULT = 20_000  # characters that are typed for a call
TYPED = "typed:"  # how the names of fields begin that hold results
ORDER = ("effects", "calls", "text", "alike")  # what differs, the most important first


class _OpenCall(NamedTuple):
    run: TriedTurn
    call: TriedCall


@edit_calls.need_daemon
async def _show_trial(request: ScreenRequest) -> ScreenResult:
    number = request.path["trial"]
    if not number.isdigit():
        return render_blank("There is no such trial.", render_link_button("All trials", "/trials"))
    asked = TrialNumber(id=int(number))
    if request.form:
        typed = {
            name.removeprefix(TYPED): text.replace("\r\n", "\n")[:MAX_RESULT]
            for name, text in request.form.items()
            if name.startswith(TYPED) and text.strip()
        }
        more = TrialContinuation(id=asked.id, typed=typed)
        await edit_calls.ask_extension(request, trials.TRIAL_GO_ON, more, TrialReport)
        return RedirectResponse(build_link("trials", number), HTTPStatus.SEE_OTHER)
    trial = await edit_calls.ask_extension(request, trials.TRIAL_SHOW, asked, TrialReport)
    adoption = None
    if trial.state != "running" and request.has_right(Right.CHANGE):
        adoption = await render_adoption(request, trial)
    return render_trial(request, trial, adoption)


def render_trial(
    request: ScreenRequest, trial: TrialReport, adoption: h.Node = None
) -> TitledContent:
    """Render the screen; ``adoption`` makes its changes so."""
    shown = _find_shown_run(request, trial)
    content = [
        render_note(strip_terminal_codes(trial.note), kind="warn")
        if trial.note and trial.state == "stopped"
        else None,
        render_panel("What was tried", _render_facts(request, trial)),
        _render_going_on(request, trial),
        _render_runs(request, trial, shown) if len(trial.turns) > 1 else None,
        _render_shown_run(request, trial, shown) if shown else None,
        h.p(class_="empty")["No turn has ended yet."] if not trial.turns else None,
        adoption,
    ]
    stop = None
    if trial.state == "running" and request.has_right(Right.CHANGE):
        stop = render_act_button(
            request, trials.TRIAL_STOP, {"id": str(trial.id)}, "Stop", kind="danger"
        )
    return TitledContent(
        f"{trial_words.KINDS[trial.kind]} {trial.id}",
        content,
        lead=[
            trial_words.render_trial_state(trial),
            f" · {show_hidden_characters(trial.agent_id)}",
        ],
        actions=[stop, render_link_button("All trials", "/trials")],
    )


def _render_facts(request: ScreenRequest, trial: TrialReport) -> h.Node:
    by = show_hidden_characters(trial.by)
    return render_facts(
        {
            "Changed": trial_words.describe_trial_change(trial.change),
            "Cost": trial_words.format_trial_cost(trial),
            "Found": _summarize_runs(trial.turns) or None,
            "Note": strip_terminal_codes(trial.note) or None,
            "Begun": [figures.render_moment(trial.at, request.zone), f" by {by}" if by else None],
        }
    )


def _summarize_runs(runs: Sequence[TriedTurn]) -> str:
    """Return how many runs do the same, and how many something else."""
    counts = {
        "alike": sum(one.done and classify_run(one) == "alike" for one in runs),
        "with other effects": sum(classify_run(one) == "effects" for one in runs),
        "call something else": sum(classify_run(one) == "calls" for one in runs),
        "say something else": sum(one.done and classify_run(one) == "text" for one in runs),
        "stopped": sum(one.fidelity == "stopped" for one in runs),
        "cannot be tried": sum(one.fidelity == "impossible" for one in runs),
    }
    return " · ".join(f"{count} {words}" for words, count in counts.items() if count)


def classify_run(run: TriedTurn) -> str:
    """Return in what a run differs from its record most; one of `ORDER`."""
    if run.effects:
        return "effects"
    if run.calls:
        return "calls"
    return "text" if run.alike is False or not run.done else "alike"


def _find_shown_run(request: ScreenRequest, trial: TrialReport) -> TriedTurn | None:
    """Return the run that the address names, or the only one."""
    turn, nth = request.query.get("turn"), request.query.get("nth", "1")
    named = (one for one in trial.turns if one.turn_id == turn and str(one.nth) == nth)
    only = trial.turns[0] if len(trial.turns) == 1 else None
    return next(named, only)


def _render_runs(request: ScreenRequest, trial: TrialReport, shown: TriedTurn | None) -> h.Element:
    """Render all runs, those with other effects first."""
    ordered = sorted(trial.turns, key=lambda one: (ORDER.index(classify_run(one)), one.turn_id))
    page = request.query.get("page", "1")
    number = min(int(page) if page.isdigit() and len(page) < len(str(ROWS * ROWS)) else 1, ROWS)
    part = ordered[(max(1, number) - 1) * ROWS :][:ROWS]
    here = build_link("trials", str(trial.id))
    more = len(ordered) > number * ROWS
    return render_panel(
        "Turns",
        render_table(
            "Turns",
            (
                "Turn",
                "Otherwise",
                "As recorded",
                TableColumn("Cost", "number"),
            ),
            (_render_run_row(trial, one, one is shown) for one in part),
        ),
        h.p[h.a(href=f"{here}?page={number + 1}")["More turns"]] if more else None,
    )


def _render_run_row(trial: TrialReport, run: TriedTurn, shown: bool) -> Sequence[h.Node]:  # noqa: FBT001 - a row is built from values
    link = build_link("trials", str(trial.id), turn=run.turn_id, nth=run.nth)
    title = format_question(run.recorded.question, MAX_TITLE) or format_turn_name(run.turn_id)
    again = f", run {run.nth}" if run.nth > 1 else ""
    other = "another text" if run.done and run.alike is False else "nothing" if run.done else ""
    words = next(iter((*run.effects, *run.calls, other)))
    return (
        h.a(href=f"{link}#run", aria_current=shown or None, data_row=True)[f"{title}{again}"],
        [
            figures.render_state("denied", "effect") if run.effects else None,
            h.div(class_="clip")[strip_terminal_codes(words)],
            h.div(class_="soft")[strip_terminal_codes(run.reason)],
        ],
        trial_words.render_fidelity(run.fidelity),
        _format_saving(run),
    )


def _format_saving(run: TriedTurn) -> str:
    """Return the cost of a run, and how much less or more that is than recorded."""
    before, after = run.recorded.usd, run.tried.usd
    cost = figures.format_usd(after)
    if not before or after is None or not run.done:
        return cost
    share = round(100 * (after - before) / before)
    return f"{cost} ({share:+d} %)" if share else cost


def _render_shown_run(request: ScreenRequest, trial: TrialReport, run: TriedTurn) -> h.Element:
    changes = request.has_right(Right.CHANGE)
    return render_panel(
        format_question(run.recorded.question, MAX_TITLE) or "The turn",
        render_run(run),
        id="run",
        actions=[
            render_link_button("The turn", build_link("turns", run.turn_id)),
            render_link_button("Make it a test", build_link("turns", run.turn_id, "test"))
            if changes
            else None,
            render_link_button(
                "Change more", build_link("try", run.turn_id, **_list_known_values(trial))
            )
            if changes
            else None,
        ],
    )


def _list_known_values(trial: TrialReport) -> Mapping[str, str]:
    """Return the short values of a trial, with which the form of the next one begins."""
    change = trial.change
    found = {
        "model": change.model or "",
        "effort": "" if change.effort is None else str(change.effort),
        "temperature": "" if change.temperature is None else f"{change.temperature:g}",
        "prompt": "today" if change.as_today else "",
    }
    return {name: value for name, value in found.items() if value}


def _render_going_on(request: ScreenRequest, trial: TrialReport) -> h.Node:
    """Render the button that goes on with a stopped trial, and fields for missing results."""
    if trial.state != "stopped" or not request.has_right(Right.CHANGE):
        return None
    missing = {
        call.key: _OpenCall(run, call) for run in trial.turns for call in list_open_calls(run)
    }
    if not (missing or trial.waiting):
        return None
    return render_panel(
        "Go on",
        h.p[
            "It stopped at calls whose results are not recorded. Write what they would return; one"
            " that stays empty stays open."
        ]
        if missing
        else h.p[f"{figures.format_plural(trial.waiting, 'turn')} to go."],
        h.form(method="post", class_="form", data_kept=True)[
            render_hidden_fields(request),
            (_render_result_field(one) for one in list(missing.values())[:ROWS]),
            h.div(class_="row")[render_button("Go on", "do")],
        ],
        urgent=True,
    )


def _render_result_field(one: _OpenCall) -> h.Element:
    name = show_hidden_characters(one.call.name)
    title = format_question(one.run.recorded.question, MAX_TITLE)
    arguments = ", ".join(f"{key}: {value}" for key, value in one.call.arguments.items())
    return render_field(
        f"{name} returns",
        h.textarea(name=f"{TYPED}{one.call.key}", class_="short", rows="2"),
        f"With {shorten_text(arguments, 200)}; in “{title}”." if arguments else f"In “{title}”.",
    )


SCREENS = (
    PageScreen(
        "/trials/{trial}",
        "A trial",
        Right.READ,
        _show_trial,
        "Trials",
        stamp=stamps.read_trial,
        posts=True,
    ),
)
