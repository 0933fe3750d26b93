"""What an edit does: its problems by line, its meaning in sentences, and the lines that change."""

from collections.abc import Sequence

import htpy as h

from orchestrator.config_problem import Problem
from orchestrator.control.editing import FILE_UNDO, EditReport, FileVersion
from orchestrator.control.roles import Right
from orchestrator.extensions.page.html.forms import render_act_button
from orchestrator.extensions.page.html.outside_text import (
    show_hidden_characters,
    strip_terminal_codes,
)
from orchestrator.extensions.page.screen_request import ScreenRequest

REPORT = "report"  # the id of the region
MAX_LINES = 1000  # of a difference that are shown


def render_report(report: EditReport | None, *more: h.Node) -> h.Element:
    """Render the region of a report, with ``more`` in it; None before anything was checked."""
    return h.section(id=REPORT, class_="report", aria_live="polite")[
        None if report is None else _render_findings(report), more
    ]


def render_sentences(sentences: Sequence[str]) -> h.Node:
    """Render what a change means."""
    return h.ul(class_="meaning")[(h.li[strip_terminal_codes(one)] for one in sentences)]


def render_problems(problems: Sequence[Problem]) -> h.Node:
    """Render problems, errors first, each with a link to its line."""
    if not problems:
        return None
    ordered = sorted(problems, key=lambda one: (one.severity != "error", one.line))
    return h.ul(class_="problems")[map(_render_problem, ordered)]


def render_difference(difference: str) -> h.Element:
    """Render lines as ``diff -u`` gives them: added, removed, and those around them."""
    lines = difference.split("\n")
    rest = len(lines) - MAX_LINES
    return h.div(class_="diff", role="group", aria_label="Lines that change", tabindex="0")[
        map(_render_line, lines[:MAX_LINES]),
        h.span(class_="soft")[f"… and {rest:,} lines more"] if rest > 0 else None,
    ]


def was_just_saved(request: ScreenRequest) -> bool:
    """Return whether a screen is shown after saving or undoing, as its address says."""
    return bool({"saved", "undone"} & request.query.keys())


def render_saved_note(request: ScreenRequest, newest: FileVersion, at: str) -> h.Element:
    """Render what was just saved or undone; the way back leads to the path ``at``."""
    undone = "undone" in request.query
    fields = {"name": newest.name, "after": str(newest.number), "back": f"{at}?undone=1"}
    return h.div(class_="note done", role="status")[
        h.strong["Undone." if undone else "Saved."],
        render_sentences(newest.sentences) if newest.sentences else None,
        render_act_button(request, FILE_UNDO, fields, "Undo", leaves=True)
        if request.has_right(Right.CHANGE) and not undone
        else None,
    ]


def has_errors(report: EditReport) -> bool:
    """Return whether the problems of an edit prevent saving it."""
    return any(problem.severity == "error" for problem in report.problems)


def _render_findings(report: EditReport) -> h.Node:
    changed = bool(report.difference)
    return [
        [
            h.h2["It cannot be saved yet" if has_errors(report) else "Look at this"],
            render_problems(report.problems),
        ]
        if report.problems
        else None,
        h.h2["What this changes"],
        render_sentences(report.sentences)
        if report.sentences
        else h.p(class_="soft")[
            "Only how the text is written; nothing works differently."
            if changed and not report.problems
            else "Nothing that could be described yet."
            if changed
            else "Nothing yet: this is the text in force."
        ],
        h.details[h.summary["The lines that change"], render_difference(report.difference)]
        if changed
        else None,
    ]


def _render_problem(problem: Problem) -> h.Element:
    message = strip_terminal_codes(problem.message)
    place = (
        h.a(href=f"#line-{problem.line}", data_line=str(problem.line))[f"line {problem.line}"]
        if problem.line
        else None
    )
    return h.li(class_="bad" if problem.severity == "error" else "warn")[
        place, " " if place else None, message
    ]


def _render_line(line: str) -> h.Element:
    text = show_hidden_characters(line)
    if line.startswith("+"):
        return h.ins[text]
    if line.startswith("@@"):
        return h.span(class_="soft")["⋯"]
    return h.del_[text] if line.startswith("-") else h.span[text]
