"""The form of a trial: what to change, on which turns, and what that may cost."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import htpy as h

from orchestrator.control.trials import MAX_TIMES, TrialEstimate
from orchestrator.extensions.page.edit_forms.trial_fields import (
    DEFAULT_COUNT,
    EFFORTS,
    FILE,
    LAST,
    LAYER,
    OF_SET,
    OF_SKILL,
    THIS,
    UNRECORDED,
    WITHOUT,
)
from orchestrator.extensions.page.html import figures
from orchestrator.extensions.page.html.forms import build_link, render_hidden_fields
from orchestrator.extensions.page.html.outside_text import (
    is_plain_text,
    show_hidden_characters,
    strip_terminal_codes,
)
from orchestrator.extensions.page.html.vocabulary import (
    render_choice,
    render_field,
    render_link_button,
    render_note,
    render_panel,
)
from orchestrator.extensions.page.reads.triable_turns import MAX_TURNS
from orchestrator.extensions.page.screen_request import ScreenRequest, TitledContent
from orchestrator.extensions.page.screens import trial_words
from orchestrator.extensions.page.screens.known_agents import render_agent_choice
from orchestrator.extensions.page.screens.trial_origin import TrialOrigin, find_skill_name

MAX_TITLE = 40  # characters of the question
MAX_TOOLS = 60  # that can be taken away one by one
ROWS = 14  # of a text that is edited
CENT = 100  # cents of a dollar
LEAST_TOKENS = 10_000  # of a limit that is suggested
NOTHING_REACHED = (
    "A trial sends nothing to a chat, changes no file and no memory, and calls no tool: it answers"
    " calls from the record. Only the model is asked, and paid."
)


class PricedTrial(NamedTuple):
    """What a trial may cost; ``digest`` says of which request, ``turns`` are those it tries."""

    digest: str
    turns: int
    estimate: TrialEstimate


def render_trial_form(
    request: ScreenRequest,
    origin: TrialOrigin,
    posted: Mapping[str, str],
    problems: Mapping[str, str],
    forecast: PricedTrial | None = None,
) -> TitledContent:
    """Render the form with what was ``posted``, under what that may cost, once it was asked."""
    turn = origin.turn
    asked = trial_words.format_question(turn.turn.asked, MAX_TITLE) if turn else ""
    content = h.div(data_kept=True)[
        h.form(method="post", class_="form wide", autocomplete="off")[
            render_hidden_fields(request),
            h.p(class_="help soft")[NOTHING_REACHED],
            render_note(problems[""], kind="bad") if "" in problems else None,
            _render_forecast(posted, forecast, problems) if forecast else None,
            _render_choices(origin, posted, problems),
            _render_texts(origin, posted),
            _render_tools(origin, posted),
            h.div(class_="foot")[
                h.button(class_=None if forecast else "do", name="do", value="estimate")[
                    "Estimate again" if forecast else "Estimate"
                ],
                h.span(class_="soft")["Costs nothing, and asks no model."],
            ],
        ]
    ]
    return TitledContent(
        f"Try: {asked or show_hidden_characters(origin.file) or 'earlier turns'}",
        content,
        lead=_describe_origin(origin),
        actions=[
            render_link_button("◂ The turn", build_link("turns", turn.turn.id)) if turn else None,
            render_link_button("All trials", "/trials"),
        ],
    )


def _describe_origin(origin: TrialOrigin) -> str:
    name = show_hidden_characters(origin.agent)
    if origin.turn is None:
        return name
    steps = figures.format_plural(len(origin.turn.models), "model step")
    return f"{name} · {steps} · recorded {figures.format_usd(origin.turn.turn.usd)}"


def _render_forecast(
    posted: Mapping[str, str], forecast: PricedTrial, problems: Mapping[str, str]
) -> h.Element:
    found = forecast.estimate
    priced = found.high_usd is not None
    limit = posted.get("limit_usd") or (_suggest_limit(found.high_usd or 0) if priced else "")
    tokens = posted.get("limit_tokens") or (
        "" if priced else str(max(LEAST_TOKENS, 2 * found.tokens))
    )
    return render_panel(
        "What it may cost",
        h.p[describe_estimate(found)],
        _render_new_provider(posted, found, problems.get("confirmed", "")),
        render_note(strip_terminal_codes(found.problem), kind="bad") if found.problem else None,
        h.div(class_="form")[
            render_field(
                "At most, in dollars",
                h.input(name="limit_usd", value=limit, inputmode="decimal", size="8"),
                "The trial stops before a step that could pass it.",
                problems.get("limit_usd", ""),
            ),
            render_field(
                "At most, in tokens",
                h.input(name="limit_tokens", value=tokens, inputmode="numeric", size="8"),
                None if priced else "Needed: the price of this model is not known.",
                problems.get("limit_tokens", ""),
            ),
        ],
        h.input(type="hidden", name="estimated", value=forecast.digest),
        None
        if found.problem
        else h.div(class_="row")[h.button(class_="do", name="do", value="run")["Run"]],
    )


def describe_estimate(found: TrialEstimate) -> str:
    """Return what a trial may cost, how much work it is, and what the budget leaves for it."""
    work = (
        f"{figures.format_plural(found.turns, 'turn')},"
        f" {figures.format_plural(found.calls, 'model call')},"
        f" about {figures.format_tokens(found.tokens)} tokens"
    )
    left = ""
    if found.left_usd is not None:
        left = f" The budget leaves {figures.format_round_usd(found.left_usd)} for trials."
    if found.low_usd is None or found.high_usd is None:
        return f"{work}. No price is known.{left}"
    low, high = (figures.format_round_usd(usd) for usd in (found.low_usd, found.high_usd))
    return f"{low if low == high else f'{low} to {high}'}: {work}.{left}"


def _render_new_provider(posted: Mapping[str, str], found: TrialEstimate, problem: str) -> h.Node:
    """Render the question whether a provider may see these words, which it does not know yet."""
    if not found.new_provider:
        return None
    name = show_hidden_characters(found.new_provider)
    words = (
        f"{figures.format_plural(found.messages, 'message')} of"
        f" {'1 person' if found.people == 1 else f'{found.people} people'}"
    )
    return render_note(
        h.b[f"{words} would be sent to {name}, which this agent does not use yet."],
        h.label(class_="check")[
            h.input(
                type="checkbox",
                name="confirmed",
                value=found.new_provider,
                checked=posted.get("confirmed") == found.new_provider,
            ),
            f"Send them to {name}",
        ],
        h.p(class_="problem", role="alert")[problem] if problem else None,
        kind="warn",
    )


def _render_choices(
    origin: TrialOrigin, posted: Mapping[str, str], problems: Mapping[str, str]
) -> h.Node:
    def render_list(
        name: str, label: str, choices: Sequence[tuple[str, str]], about: str = ""
    ) -> h.Node:
        control = render_choice(name, choices, posted.get(name, ""))
        return render_field(label, control, about, problems.get(name, ""))

    def render_input(name: str, label: str, empty: str, about: str = "", known: str = "") -> h.Node:
        control = h.input(
            name=name, value=posted.get(name, ""), placeholder=empty, list=known or None
        )
        return render_field(label, control, about, problems.get(name, ""))

    on = {**posted, "on": posted.get("on", origin.first_choice)}
    turns = render_choice("on", list(_iter_turn_choices(origin, posted)), on["on"])
    return [
        render_input("model", "Model", "as recorded", "PROVIDER/MODEL", "models"),
        h.datalist(id="models")[
            (h.option(value=name) for name in origin.models if is_plain_text(name))
        ],
        render_list("effort", "Effort", [("", "as recorded"), *((one, one) for one in EFFORTS)]),
        render_input("temperature", "Temperature", "as recorded"),
        render_list(
            "prompt",
            "Prompt",
            [("", "as recorded"), ("today", "as today")],
            "As today, it is made anew from the present texts and facts.",
        ),
        render_list("from_step", "Begin", _list_begins(origin)) if origin.turn else None,
        render_list(
            "unrecorded",
            "A call without a record",
            [(one, trial_words.UNRECORDED[one]) for one in UNRECORDED],
        ),
        _render_agents(origin) if origin.turn is None else None,
        render_field("On", turns, None, problems.get("on", "")),
        render_input(
            "count", "How many turns", str(DEFAULT_COUNT), f"At most {MAX_TURNS}; newest first."
        ),
        render_list(
            "times",
            "Times",
            [(str(n), str(n)) for n in range(1, MAX_TIMES + 1)],
            "Above a temperature of 0, another run may differ.",
        ),
    ]


def _render_agents(origin: TrialOrigin) -> h.Element:
    choice = render_agent_choice("agent", origin.agents, origin.agent)
    return render_field("Agent", choice, "Whose turns.")


def _list_begins(origin: TrialOrigin) -> list[tuple[str, str]]:
    count = 0 if origin.turn is None else len(origin.turn.models)
    later = [(str(step), f"after model step {step}") for step in range(1, min(count, 50))]
    return [("", "at the start"), *later]


def _iter_turn_choices(origin: TrialOrigin, posted: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    if origin.turn is not None:
        yield THIS, "this turn"
    yield LAST, f"the last turns of {show_hidden_characters(origin.agent)}"
    files = [origin.file, *(name.removeprefix(FILE) for name in posted if name.startswith(FILE))]
    for skill in filter(is_plain_text, filter(None, dict.fromkeys(map(find_skill_name, files)))):
        yield f"{OF_SKILL}{skill}", f"its last turns that used {skill}"
    for name in origin.sets:
        yield f"{OF_SET}{name}", f"the set {name}, as a test"


def _render_texts(origin: TrialOrigin, posted: Mapping[str, str]) -> h.Node:
    """Render the texts that are edited for the trial, and the parts of the recorded prompt."""
    files = [name for name in posted if name.startswith(FILE)]
    layers = {
        f"{LAYER}{one.name}": one.text for one in origin.prompt.layers if is_plain_text(one.name)
    }
    rest = [name for name in origin.texts if f"{FILE}{name}" not in posted]
    return [
        (
            _render_edited_text(name, name.removeprefix(FILE), posted[name], opened=True)
            for name in files
            if is_plain_text(name)
        ),
        h.div(class_="row")[
            h.label[
                h.span["Another text for the trial"],
                render_choice("open", [("", "choose"), *((one, one) for one in rest)], ""),
            ],
            h.button(name="do", value="open")["Open"],
        ]
        if rest
        else None,
        h.details[
            h.summary["Parts of the recorded prompt"],
            (
                _render_edited_text(
                    name, name.removeprefix(LAYER), posted.get(name, text), opened=False
                )
                for name, text in layers.items()
            ),
        ]
        if layers
        else None,
    ]


def _render_edited_text(name: str, title: str, text: str, *, opened: bool) -> h.Element:
    """Render a text to edit; one with characters that cannot be seen stays as it is."""
    shown = title.replace("_", " ")
    plain = is_plain_text(text.replace("\r\n", "\n"))
    return h.details(class_="one", open=opened)[
        h.summary[h.b[shown], h.small[f" {figures.format_count(len(text))} characters"]],
        h.textarea(name=name, class_="code", rows=str(ROWS), aria_label=shown, spellcheck="false")[
            "\n" + text
        ]
        if plain
        else [
            h.input(type="hidden", name=name, value=text),
            h.p(class_="soft")["It has characters that cannot be seen, so it is tried as it is."],
            h.pre[show_hidden_characters(text)],
        ],
    ]


def _render_tools(origin: TrialOrigin, posted: Mapping[str, str]) -> h.Node:
    tools = [name for name in origin.prompt.tools if is_plain_text(name)][:MAX_TOOLS]
    also = posted.get("also", "")
    changed = bool(also) or any(f"{WITHOUT}{name}" in posted for name in tools)
    return h.details(open=changed)[
        h.summary[f"Tools: {figures.format_count(len(origin.prompt.tools))} were offered"]
        if origin.turn
        else h.summary["Tools"],
        h.p(class_="soft")["Take away those that are ticked:"] if tools else None,
        h.div(class_="row")[
            (
                h.label(class_="check")[
                    h.input(
                        type="checkbox",
                        name=f"{WITHOUT}{name}",
                        value="1",
                        checked=f"{WITHOUT}{name}" in posted,
                    ),
                    name,
                ]
                for name in tools
            )
        ],
        render_field(
            "Offer also",
            h.input(name="also", value=also),
            "Names of tools that this agent may use, between spaces.",
        ),
    ]


def _suggest_limit(high: float) -> str:
    """Return the upper end of an estimate in whole cents."""
    return f"{max(1, math.ceil(high * CENT)) / CENT:.2f}"
