"""Turns that are kept as tests: their sets, their checks, and how they did last."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from itertools import groupby

import htpy as h
from pydantic import ValidationError
from starlette.responses import RedirectResponse

from orchestrator.control import trials
from orchestrator.control.roles import Right
from orchestrator.control.trials import SavedSets, SavedTurn
from orchestrator.extensions.page import edit_calls
from orchestrator.extensions.page.edit_forms.trial_fields import OF_SET
from orchestrator.extensions.page.html.forms import (
    build_link,
    render_act_button,
    render_button,
    render_hidden_fields,
)
from orchestrator.extensions.page.html.outside_text import (
    is_plain_text,
    show_hidden_characters,
    strip_terminal_codes,
)
from orchestrator.extensions.page.html.tables import ACTIONS, render_table
from orchestrator.extensions.page.html.vocabulary import (
    render_blank,
    render_field,
    render_link_button,
    render_panel,
)
from orchestrator.extensions.page.reads import stamps, triable_turns
from orchestrator.extensions.page.reads.triable_turns import NewestResult
from orchestrator.extensions.page.screen_request import (
    PageScreen,
    ScreenRequest,
    ScreenResult,
    TitledContent,
)
from orchestrator.extensions.page.screens import trial_words
from orchestrator.extensions.page.screens.trial_steps import render_checks
from thinker.protocol.names import format_turn_name
from thinker.protocol.peer import FAILED, RpcError

MAX_TITLE = 60  # characters of a question
ROWS = 50  # of one set
USUAL = "same calls"
WRONG_NAME = "Use lower-case letters, digits, - and _, beginning with a letter or digit."
EMPTY = (
    "No turn is kept as a test yet. Open a turn and press Make it a test, to see before each change"
    " whether it would still be answered as you want."
)
# Checks that a line may hold, with what each means.
CHECKS: Mapping[str, str] = {
    "same calls": "it calls the same tools with the same values",
    'called: send_mail with {"to": "bob@example.org"}': "it calls this, with at least these values",
    "not called: files_*": "it calls nothing with such a name",
    "calls at most: 3": "it calls tools no more often",
    "says: /12:40/": "its answer fits this pattern",
    "does not say: /sorry/": "its answer does not fit this pattern",
    "answers in: de": "its answer is in this language",
    "steps below: 4": "it needs fewer model steps",
    "costs below: 0.01": "it costs fewer dollars",
    "would not ask": "it needs no approval",
    'judged by openai/gpt-5: "Is it polite?"': "a model says yes; this alone never decides",
}


@edit_calls.need_daemon
async def _show_sets(request: ScreenRequest) -> ScreenResult:
    found = await edit_calls.ask_extension(request, trials.SETS_LIST, None, SavedSets)
    turns = [one.turn for one in found.turns]
    results = await request.journal(triable_turns.load_test_results, turns)
    return render_sets(request, found, results)


@edit_calls.need_daemon
async def _show_test_form(request: ScreenRequest) -> ScreenResult:
    turn = request.path["turn"]
    found = await request.journal(triable_turns.list_questions, [turn])
    if turn not in found:
        return render_blank(
            "Turn not found. Turns are kept for 90 days (retention.turnDays in agents.json).",
            render_link_button("All turns", "/turns"),
            "turns",
        )
    saved = await edit_calls.ask_extension(request, trials.SETS_LIST, None, SavedSets)
    question, problems = found[turn].asked, dict[str, str]()
    if request.form:
        try:
            name, checks = request.form.get("set", "").strip(), request.form.get("checks", "")
            kept = SavedTurn(set_name=name, turn=turn, checks=checks.replace("\r\n", "\n").strip())
            await edit_calls.ask_extension(request, trials.SETS_ADD, kept, SavedTurn)
            return RedirectResponse(f"/sets#set-{name}", HTTPStatus.SEE_OTHER)
        except ValidationError as error:
            wrong = error.errors(include_url=False, include_input=False)[0]
            named = wrong["loc"][0] != "checks"
            problems = {"set": WRONG_NAME} if named else {"checks": "These are too long."}
        except RpcError as error:
            if error.code != FAILED:
                raise
            problems = {"checks": strip_terminal_codes(str(error))}
    return render_test_form(request, turn, question, saved, problems)


def render_sets(
    request: ScreenRequest, found: SavedSets, results: Mapping[str, NewestResult]
) -> TitledContent:
    """Render all sets with their turns, and how each did in the newest test."""
    ordered = sorted(found.turns, key=lambda one: one.set_name)
    groups = [(name, list(turns)) for name, turns in groupby(ordered, lambda one: one.set_name)]
    return TitledContent(
        "Tests",
        [_render_set(request, name, turns, results) for name, turns in groups]
        if groups
        else render_blank(EMPTY, render_link_button("The turns", "/turns", "do"), "again"),
        lead="Turns that are kept, with what each has to do.",
        actions=render_link_button("Trials", "/trials"),
    )


def _render_set(
    request: ScreenRequest,
    name: str,
    turns: Sequence[SavedTurn],
    results: Mapping[str, NewestResult],
) -> h.Element:
    run = render_link_button("Try …", build_link("try", on=f"{OF_SET}{name}"), "do")
    return render_panel(
        name,
        render_table(
            name,
            ("Question", "Checks", "Last test", ACTIONS),
            (_render_saved_turn(request, one, results.get(one.turn)) for one in turns[:ROWS]),
        ),
        h.p(class_="soft")[f"{len(turns) - ROWS} more: orchestrator sets show {name}"]
        if len(turns) > ROWS
        else None,
        id=f"set-{name}",
        actions=run if request.has_right(Right.CHANGE) else None,
    )


def _render_saved_turn(
    request: ScreenRequest, one: SavedTurn, result: NewestResult | None
) -> Sequence[h.Node]:
    title = trial_words.format_question(one.question, MAX_TITLE) or format_turn_name(one.turn)
    fields = {"setName": one.set_name, "turn": one.turn}
    return (
        h.a(href=build_link("turns", one.turn), data_row=True)[title],
        [h.div[h.code[show_hidden_characters(line)]] for line in one.checks.split("\n")],
        h.span(class_="soft")["not yet"]
        if result is None
        else [
            h.a(href=build_link("trials", str(result.trial), turn=one.turn, nth=result.turn.nth))[
                f"Test {result.trial}"
            ],
            " ",
            trial_words.render_fidelity(result.turn.fidelity),
            render_checks(result.turn),
        ],
        [
            h.a(href=build_link("turns", one.turn, "test", set=one.set_name))["Change"],
            " ",
            render_act_button(request, trials.SETS_REMOVE, fields, "Remove", kind="danger"),
        ]
        if request.has_right(Right.CHANGE)
        else None,
    )


def render_test_form(
    request: ScreenRequest,
    turn: str,
    question: str,
    saved: SavedSets,
    problems: Mapping[str, str] = {},
) -> TitledContent:
    """Render the form that keeps a turn as a test, or gives it other checks."""
    sets = sorted({one.set_name for one in saved.turns})
    own = {one.set_name: one.checks for one in saved.turns if one.turn == turn}
    name = request.form.get("set", request.query.get("set", next(iter(own), "")))
    checks = request.form.get("checks", own.get(name, USUAL))
    return TitledContent(
        "Make it a test",
        h.form(method="post", class_="form", data_kept=True)[
            render_hidden_fields(request),
            h.blockquote(class_="held")[strip_terminal_codes(question)],
            render_field(
                "Set",
                h.input(name="set", value=name, list="sets", required=True, maxlength="64"),
                f"One of {', '.join(sets)}, or a new name." if sets else "A new name, as daily.",
                problems.get("set", ""),
            ),
            h.datalist(id="sets")[(h.option(value=one) for one in sets if is_plain_text(one))],
            render_field(
                "Checks",
                h.textarea(name="checks", class_="code", rows="6", spellcheck="false")[
                    "\n" + strip_terminal_codes(checks)
                ],
                "One on each line; all of them have to be met.",
                problems.get("checks", ""),
            ),
            h.details[
                h.summary["What a line may say"],
                h.ul[
                    (
                        h.li[h.code[line], h.span(class_="soft")[f" {means}"]]
                        for line, means in CHECKS.items()
                    )
                ],
            ],
            h.p(class_="soft")[
                "The turn is kept as long as it is a test, with its messages and pictures."
            ],
            h.div(class_="row")[
                render_button("Save", "do"),
                render_link_button("The turn", build_link("turns", turn)),
            ],
        ],
    )


SCREENS = (
    PageScreen("/sets", "Tests", Right.READ, _show_sets, "Trials", stamp=stamps.read_sets),
    PageScreen(
        "/turns/{turn}/test",
        "Make it a test",
        Right.CHANGE,
        _show_test_form,
        "Trials",
        from_journal=False,
        posts=True,
    ),
)
