"""Begin a trial: its form, an estimate, and only then the trial itself."""

from collections.abc import Mapping
from http import HTTPStatus

from starlette.responses import RedirectResponse

from orchestrator.control import trials
from orchestrator.control.roles import Right
from orchestrator.control.trials import TrialEstimate, TrialReport, TrialRequest
from orchestrator.extensions.page import edit_calls
from orchestrator.extensions.page.edit_forms.trial_fields import (
    TrialFields,
    compute_request_digest,
    read_trial_fields,
)
from orchestrator.extensions.page.html.forms import build_link
from orchestrator.extensions.page.html.outside_text import strip_terminal_codes
from orchestrator.extensions.page.html.vocabulary import render_blank, render_link_button
from orchestrator.extensions.page.screen_request import (
    PageScreen,
    ScreenRequest,
    ScreenResult,
)
from orchestrator.extensions.page.screens.trial_form import PricedTrial, render_trial_form
from orchestrator.extensions.page.screens.trial_origin import (
    TrialOrigin,
    choose_turns,
    complete_fields,
    load_origin,
)
from thinker.protocol.peer import FAILED, RpcError

NO_TURNS = "there are no such turns; choose others"
CHANGED = "Something was changed after the estimate; this is the new one. Run it now, if it fits."
NO_LIMIT = "say how much it may cost at most, in dollars or tokens"


@edit_calls.need_daemon
async def _show_trial_form(request: ScreenRequest) -> ScreenResult:
    origin = await load_origin(request)
    if origin is None:
        return render_blank(
            "Turn not found. Turns are kept for 90 days (retention.turnDays in agents.json).",
            render_link_button("All turns", "/turns"),
            "turns",
        )
    if origin.turn is not None and not origin.turn.prompt.layers:
        return render_blank(
            "No prompt is recorded for this turn, so it cannot be tried again.",
            render_link_button("The turn", build_link("turns", origin.turn.turn.id)),
            "turns",
        )
    posted = await complete_fields(request, origin)
    if not request.form:
        return render_trial_form(request, origin, {**request.query, **posted}, {})
    try:
        return await _answer_form(request, origin, posted)
    except RpcError as error:
        if error.code != FAILED:
            raise
        refusal = {"": strip_terminal_codes(str(error))}
        return render_trial_form(request, origin, posted, refusal)


async def _answer_form(
    request: ScreenRequest, origin: TrialOrigin, posted: Mapping[str, str]
) -> ScreenResult:
    """Show what the trial of a form may cost, or begin it, as its button says."""
    fields, todo = read_trial_fields(posted, origin.prompt), posted.get("do")
    if todo not in ("estimate", "run") or fields.problems:
        return render_trial_form(request, origin, posted, fields.problems)
    turns = await choose_turns(request, origin, fields)
    if not turns:
        return render_trial_form(request, origin, posted, {"on": NO_TURNS})
    asked = fields.build_trial_request(turns)
    digest = compute_request_digest(asked)
    found = await _estimate_trial(request, asked)
    problems = {}
    if todo == "run":
        problems = _find_faults(fields, found, same=posted.get("estimated") == digest)
        if not problems:
            trial = await edit_calls.ask_extension(request, trials.TRIAL_START, asked, TrialReport)
            return RedirectResponse(build_link("trials", str(trial.id)), HTTPStatus.SEE_OTHER)
    return render_trial_form(
        request, origin, posted, problems, PricedTrial(digest, len(turns), found)
    )


async def _estimate_trial(request: ScreenRequest, asked: TrialRequest) -> TrialEstimate:
    """Return what a trial may cost; its problems are those that the form cannot solve."""
    found = await edit_calls.ask_extension(request, trials.TRIAL_ESTIMATE, asked, TrialEstimate)
    solved: dict[str, object] = {"confirmed": found.new_provider}
    if found.high_usd is None:
        solved["limit_tokens"] = asked.limit_tokens or max(1, found.tokens)
    complete = asked.model_copy(update=solved)
    if not found.problem or complete == asked:
        return found
    return await edit_calls.ask_extension(request, trials.TRIAL_ESTIMATE, complete, TrialEstimate)


def _find_faults(fields: TrialFields, found: TrialEstimate, *, same: bool) -> dict[str, str]:
    """Return what is still to be decided before a trial may begin."""
    if not same:
        return {"": CHANGED}
    if found.problem:
        return {"": strip_terminal_codes(found.problem)}
    if found.new_provider and fields.confirmed != found.new_provider:
        return {"confirmed": "tick this to go on, or choose another model"}
    if fields.limit_tokens is None and found.high_usd is None:
        return {"limit_tokens": "the price is not known; write a number of tokens"}
    return {} if fields.limit_usd or fields.limit_tokens else {"limit_usd": NO_LIMIT}


SCREENS = tuple(
    PageScreen(
        path,
        "Try",
        Right.CHANGE,
        _show_trial_form,
        "Trials",
        from_journal=False,
        posts=True,
    )
    for path in ("/try", "/try/{turn}")
)
