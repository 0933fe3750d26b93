"""One run of a turn beside its record, step by step."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest

import htpy as h
import orjson

from orchestrator.control.trials import TriedCall, TriedStep, TriedTurn, TurnRecord
from orchestrator.extensions.page.html import figures
from orchestrator.extensions.page.html.argument_rows import (
    render_arguments,
    render_result,
    summarize_arguments,
)
from orchestrator.extensions.page.html.outside_text import (
    show_hidden_characters,
    strip_terminal_codes,
)
from orchestrator.extensions.page.html.vocabulary import render_cut_note, render_diff
from orchestrator.extensions.page.screens import trial_words

MAX_TEXT = 20_000  # characters of one text that are shown
RECORDED, TRIED = "recorded", "tried"


def render_run(run: TriedTurn) -> h.Element:
    """Render a run: what it did otherwise first, then both waterfalls side by side."""
    return h.div[
        render_differences(run),
        render_checks(run),
        h.div(class_="versus")[
            h.h3[RECORDED],
            h.h3[TRIED, " ", trial_words.render_fidelity(run.fidelity)],
            _iter_rows(run),
        ],
        _render_answer_difference(run),
    ]


def render_differences(run: TriedTurn) -> h.Node:
    """Render how a run differs: its effects, its other calls, and why it is not exact."""
    return [
        h.ul(class_="problems")[
            (h.li(class_="bad")[strip_terminal_codes(one)] for one in run.effects),
            (h.li[strip_terminal_codes(one)] for one in run.calls),
        ]
        if run.effects or run.calls
        else None,
        h.p(class_="soft")[strip_terminal_codes(run.reason)] if run.reason else None,
    ]


def render_checks(run: TriedTurn) -> h.Node:
    """Render which checks a run meets."""
    if not run.checks:
        return None
    return h.ul(class_="values-list")[
        (
            h.li[
                figures.render_state(*_MET[one.met]),
                " ",
                h.code[show_hidden_characters(one.check)],
                h.span(class_="soft")[f" {strip_terminal_codes(one.text)}"] if one.text else None,
            ]
            for one in run.checks
        )
    ]


_MET = {True: ("ok", "met"), False: ("failed", "not met"), None: ("unknown", "cannot be told")}


def _iter_rows(run: TriedTurn) -> Iterator[h.Element]:
    """Yield the cells of both, left and right in turn."""
    for number, (before, after) in enumerate(
        zip_longest(run.recorded.steps, run.tried.steps), start=1
    ):
        yield _render_step(before, number, RECORDED)
        yield _render_step(after, number, TRIED)
    yield _render_end(run.recorded, RECORDED)
    yield (
        _render_end(run.tried, TRIED)
        if run.done
        else h.div(data_side=TRIED)[h.p(class_="soft")["It has not come to its end."]]
    )


def _render_step(step: TriedStep | None, number: int, side: str) -> h.Element:
    if step is None:
        return h.div(class_="absent", data_side=side)[h.p(class_="soft")[f"{number} no such step"]]
    usage = f"{figures.format_count(step.prompt)} + {figures.format_count(step.completion)} tokens"
    cost = "" if step.usd is None else f" · {figures.format_usd(step.usd)}"
    took = f" · {figures.format_span(step.ms)}" if step.ms else ""
    return h.div(data_side=side)[
        h.p(class_="by")[
            h.span(class_="soft")[f"{number} "],
            h.b[show_hidden_characters(step.model)],
            h.small[f" {usage}{took}{cost}"],
        ],
        _render_sameness(step) if side == TRIED else None,
        (_render_call(call, side) for call in step.calls),
        _render_held_text(step.text) if step.text and step.calls else None,
    ]


def _render_sameness(step: TriedStep) -> h.Node:
    if step.exact:
        return h.p(class_="soft")["= the recorded request"]
    words = strip_terminal_codes(step.differs)
    return h.p(class_="soft")[f"another request: {words}"] if words else None


def _render_call(call: TriedCall, side: str) -> h.Element:
    arguments = orjson.dumps(call.arguments).decode()
    answered = "" if side == RECORDED else trial_words.SOURCES[call.source]
    return h.details(class_="call")[
        h.summary[
            h.code[show_hidden_characters(call.name)],
            h.span(class_="about")[summarize_arguments(arguments)],
            h.span(class_="how")[
                figures.render_state("denied", "effect") if call.effect else None,
                figures.render_state("failed") if call.failed else None,
                h.small[f" {answered}"] if answered else None,
            ],
        ],
        render_arguments(arguments),
        h.div(class_="result")[h.small["Result"], render_result(call.result)]
        if call.result
        else None,
    ]


def _render_end(record: TurnRecord, side: str) -> h.Element:
    tokens = sum(step.prompt + step.completion for step in record.steps)
    cost = "" if record.usd is None else f" · {figures.format_usd(record.usd)}"
    took = f" · {figures.format_span(record.ms)}" if record.ms else ""
    return h.div(class_="sum", data_side=side)[
        _render_held_text(record.answer) if record.answer else h.p(class_="soft")["No answer."],
        h.small[f"{figures.format_tokens(tokens)} tokens{took}{cost}"],
    ]


def _render_answer_difference(run: TriedTurn) -> h.Node:
    before, after = run.recorded.answer, run.tried.answer
    if not run.done or before == after or not (before and after):
        return None
    return h.details[
        h.summary["What differs in the answers"],
        render_diff(before[:MAX_TEXT], after[:MAX_TEXT]),
    ]


def _render_held_text(text: str) -> h.Element:
    return h.div(class_="held")[
        strip_terminal_codes(text[:MAX_TEXT]), render_cut_note(MAX_TEXT, len(text))
    ]


def list_open_calls(run: TriedTurn) -> Sequence[TriedCall]:
    """Return the calls of a run that wait for a result."""
    calls = (call for step in run.tried.steps for call in step.calls)
    return [call for call in calls if call.source == "none" and call.key]
