"""What an edit does: its problems by line, its meaning in sentences, and the lines that change."""

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import TypeAlias

import htpy as h

from orchestrator.config_problem import Problem
from orchestrator.control.editing import FILE_UNDO, EditReport, FileVersion
from orchestrator.control.roles import Right
from orchestrator.editable import EditableKind
from orchestrator.extensions.page.html import figures
from orchestrator.extensions.page.html.forms import render_act_button
from orchestrator.extensions.page.html.outside_text import (
    shorten_text,
    show_hidden_characters,
    strip_terminal_codes,
)
from orchestrator.extensions.page.screen_request import ScreenRequest

REPORT = "report"  # the id of the region
MAX_LINES = 1000  # of a difference that are shown
MAX_LINE = 80  # characters of a line that has a problem
RenderPlace: TypeAlias = Callable[[Problem], h.Node]


def render_report(
    report: EditReport | None,
    *more: h.Node,
    render_place: RenderPlace | None = None,
    earlier: Collection[Problem] = (),
    opened: bool = False,
) -> h.Element:
    """Render the region of a report, with ``more`` in it; None before anything was checked.

    ``render_place`` renders the place of a problem where that is no line of an editor. Warnings
    that are also ``earlier`` ones are folded. The lines that change are ``opened`` or folded too.
    """
    found = None
    if report is not None:
        render_place = render_place or partial(_render_line_link, report.text.split("\n"))
        found = _render_findings(report, render_place, earlier, opened=opened)
    return h.section(id=REPORT, class_="report", aria_live="polite")[found, more]


def render_sentences(sentences: Sequence[str]) -> h.Node:
    """Render what a change means."""
    return h.ul(class_="meaning")[(h.li[strip_terminal_codes(one)] for one in sentences)]


def render_problems(problems: Sequence[Problem], render_place: RenderPlace) -> h.Node:
    """Render problems, errors first, each with its place."""
    if not problems:
        return None
    ordered = sorted(problems, key=lambda one: (one.severity != "error", one.line))
    return h.ul(class_="problems")[(_render_problem(one, render_place) for one in ordered)]


def render_newest(request: ScreenRequest, newest: FileVersion | None) -> h.Node:
    """Render who changed a text last, and when."""
    if newest is None:
        return None
    by = f"{show_hidden_characters(newest.by)} changed it"
    if newest.by == EditableKind.author:
        by = "It was edited by hand, in its file"
    return [f"{by}: ", figures.render_moment(newest.at, request.zone), ". "]


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


def render_save_button(report: EditReport | None, label: str = "Save") -> h.Element:
    """Render the button that saves an edit, also against the objections that it met."""
    if report is not None and report.objections:
        return h.button(class_="danger", name="do", value="anyway")["Save anyway"]
    return h.button(class_="do", name="do", value="save")[label]


def has_errors(report: EditReport) -> bool:
    """Return whether the problems of an edit prevent saving it."""
    return any(problem.severity == "error" for problem in report.problems)


def _render_findings(
    report: EditReport,
    render_place: RenderPlace,
    earlier: Collection[Problem],
    *,
    opened: bool,
) -> h.Node:
    known = {(one.severity, one.message) for one in earlier if one.severity != "error"}
    fresh = [one for one in report.problems if (one.severity, one.message) not in known]
    old = [one for one in report.problems if (one.severity, one.message) in known]
    return [
        [
            h.h2["Tests object to it"],
            h.ul(class_="problems")[(h.li[strip_terminal_codes(one)] for one in report.objections)],
        ]
        if report.objections
        else None,
        [
            h.h2["It cannot be saved yet" if has_errors(report) else "Look at this"],
            render_problems(fresh, render_place),
        ]
        if fresh
        else None,
        h.h2["What this changes"],
        render_sentences(report.sentences)
        if report.sentences
        else h.p(class_="soft")[_describe_no_change(report)],
        h.details[
            h.summary[figures.format_plural(len(old), "earlier warning")],
            render_problems(old, render_place),
        ]
        if old
        else None,
        h.details(id="difference", open=opened or None)[
            h.summary["The lines that change"], render_difference(report.difference)
        ]
        if report.difference
        else None,
    ]


def _describe_no_change(report: EditReport) -> str:
    if report.difference and not report.problems:
        return "Only how the text is written; nothing works differently."
    if report.difference:
        return "Nothing that could be described yet."
    if has_errors(report):
        return "Nothing yet. With these errors it is not used: the last good version is in force."
    return "Nothing yet: this is the text in force."


def _render_problem(problem: Problem, render_place: RenderPlace) -> h.Element:
    return h.li(class_="bad" if problem.severity == "error" else "warn")[
        render_place(problem), strip_terminal_codes(problem.message)
    ]


def _render_line_link(lines: Sequence[str], problem: Problem) -> h.Node:
    """Render the number of a line as a link to it, and what stands there."""
    number = problem.line
    if not number:
        return None
    text = lines[number - 1].strip() if number <= len(lines) else ""
    return [
        h.a(href=f"#line-{number}", data_line=str(number))[f"line {number}"],
        " ",
        [h.code[show_hidden_characters(shorten_text(text, MAX_LINE))], " "] if text else None,
    ]


def _render_line(line: str) -> h.Element:
    text = show_hidden_characters(line)
    if line.startswith("+"):
        return h.ins[text]
    if line.startswith("@@"):
        return h.span(class_="soft")["⋯"]
    return h.del_[text] if line.startswith("-") else h.span[text]
