"""Costs by day, and by agent, model or purpose."""

import csv
import io
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import htpy as h
from starlette.responses import Response

from orchestrator.control import protocol
from orchestrator.control.agent_report import MOST_AGENTS, AgentReport
from orchestrator.control.protocol import StatusReport
from orchestrator.control.roles import Right
from orchestrator.extensions.page.html import figures, svg
from orchestrator.extensions.page.html.forms import build_link, render_button
from orchestrator.extensions.page.html.outside_text import show_hidden_characters
from orchestrator.extensions.page.html.svg import Column, Plot
from orchestrator.extensions.page.html.tables import TableColumn, render_table
from orchestrator.extensions.page.html.vocabulary import (
    render_blank,
    render_chips,
    render_choice,
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
from orchestrator.extensions.page.screens import expense_advice, expense_periods
from orchestrator.extensions.page.screens.expense_periods import (
    DEFAULT_DAYS,
    KEYS,
    OTHER,
    RANGES,
    Days,
    ExpenseSum,
    Period,
)
from orchestrator.extensions.page.screens.known_agents import (
    KnownAgents,
    find_agent_report,
    render_agent_choice,
)

WEEK = 7  # days needed to estimate a pace
OTHERS = "all others"
MORE = "{count:,} more agents are not listed; name one below to see its budget."
MEASURES = {"usd": "dollars", "tokens": "tokens"}
MEASURED = ("calls", "prompt", "cached", "completion")  # columns of the CSV file


class View(NamedTuple):
    """What the address asks for: whose costs, split by what, in dollars or tokens."""

    agent: str
    by: str
    measure: str


async def _show_costs(request: ScreenRequest) -> ScreenResult:
    agents: Sequence[AgentReport] = ()
    more, budgets = 0, None
    if request.daemon is not None:
        report = await request.daemon.ask_daemon(protocol.STATUS, None, StatusReport)
        agents, more = report.agents, report.agents_left_out
        name = _choose_view(request).agent
        if more and name and not any(one.agent_id == name for one in agents):
            chosen = await find_agent_report(request, name)
            agents = (*([chosen] if chosen else ()), *agents)
        forecasts = await expense_advice.load_forecasts(request)
        budgets = [
            expense_advice.render_budgets(request, agents, report.budgets, forecasts),
            h.p(class_="soft")[MORE.format(count=more)] if more else None,
        ]
    found = await expense_periods.load_period(request, expense_periods.choose_days(request))
    return render_costs(request, found, agents, budgets, more)


async def _send_costs_csv(request: ScreenRequest) -> ScreenResult:
    found = await expense_periods.load_period(request, expense_periods.choose_days(request))
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(("day", "agent", "model", "purpose", *MEASURED, "usd", "unpriced_calls"))
    for slot in _choose_agent(found, _choose_view(request).agent).slots:
        day = expense_periods.find_day(slot, request).isoformat()
        names = (slot.agent_id, slot.model, slot.purpose)
        counts = (getattr(slot, name) for name in MEASURED)
        writer.writerow((day, *map(_escape_csv_cell, names), *counts, slot.usd, slot.unpriced))
    name = f"costs-{found.days.since}-{found.days.until}.csv"
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(text.getvalue(), headers=headers, media_type="text/csv; charset=utf-8")


def _escape_csv_cell(text: str) -> str:
    """Escape text that a spreadsheet would read as a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text


def render_costs(
    request: ScreenRequest,
    found: Period,
    agents: Sequence[AgentReport] = (),
    budgets: h.Node = None,
    more: int = 0,
) -> TitledContent:
    """Render the screen, with the ``budgets`` first; ``more`` agents are not among ``agents``."""
    view = _choose_view(request)
    names = sorted({slot.agent_id for slot in found.slots} | {one.agent_id for one in agents})
    whole = not more and len(names) <= MOST_AGENTS
    known = KnownAgents(tuple(names[:MOST_AGENTS]), whole=whole)
    found = _choose_agent(found, view.agent)
    total = expense_periods.sum_all(found.slots)
    content = [
        budgets,
        _render_choices(view, found.days, known),
        render_note(found.days.problem, kind="warn") if found.days.problem else None,
        h.p[_describe_total(total, found, request), _describe_pace(total, found, request)]
        if found.slots
        else None,
        _render_period(request, view, found, total, () if more and not view.agent else agents),
        _render_ends(found.days, view),
    ]
    lead = f"{figures.format_usd(total.usd)} in {_name_days(found.days)}" if found.slots else None
    save = render_link_button("What would save most", "/costs/savings")
    reads = request.daemon is not None and request.has_right(Right.READ)
    return TitledContent("Costs", content, lead=lead, actions=save if reads else None)


def _choose_agent(found: Period, agent: str) -> Period:
    """Return the usage of one agent only; that of all without one."""
    if not agent:
        return found
    return found._replace(
        slots=[slot for slot in found.slots if slot.agent_id == agent],
        before=[slot for slot in found.before if slot.agent_id == agent],
    )


def _choose_view(request: ScreenRequest) -> View:
    by = request.query.get("by", "agent")
    measure = request.query.get("in", "usd")
    return View(
        request.query.get("agent", ""),
        by if by in KEYS else "agent",
        measure if measure in MEASURES else "usd",
    )


def _render_period(
    request: ScreenRequest,
    view: View,
    found: Period,
    total: ExpenseSum,
    agents: Sequence[AgentReport],
) -> h.Node:
    sums = expense_periods.sum_expenses(found.slots, view.by)
    ranked = sorted(
        sums.values(), key=lambda one: (getattr(one, view.measure), one.name), reverse=True
    )
    if not ranked:
        return render_blank(
            "No model calls in this period.",
            render_link_button("The last 30 days", _build_link(view, range=str(DEFAULT_DAYS)))
            if found.days.name != str(DEFAULT_DAYS)
            else None,
            "costs",
        )
    names = [one.name for one in ranked][: svg.KINDS]
    if len(ranked) > svg.KINDS:
        names[-1] = OTHERS
    spans = expense_periods.list_spans(request, found.days)
    columns = [
        _merge_unnamed_parts(column, names)
        for column in expense_periods.build_columns(spans, found.slots, view.by, view.measure)
    ]
    before = expense_periods.sum_expenses(found.before, view.by)
    return [
        _render_plot(view, columns, names, _find_day_limit(view, found.days, agents))
        if getattr(total, view.measure)
        else _render_free(view, found, total),
        render_panel(f"By {view.by}", _render_cost_table(ranked, before, view.by)),
    ]


def _render_free(view: View, found: Period, total: ExpenseSum) -> h.Element:
    calls = figures.format_plural(total.calls, "call")
    link = _build_link(view._replace(measure="tokens"), **found.days.query)
    return render_panel(
        "In dollars",
        render_blank(
            f"{calls} without costs, or without a known price.",
            render_link_button("Show tokens", link),
            "costs",
        ),
    )


def _render_plot(
    view: View, columns: Sequence[Column], names: Sequence[str], limit: float | None
) -> h.Element:
    unit = MEASURES[view.measure]
    plot = Plot(
        columns,
        names,
        f"{unit.capitalize()} by {view.by}, stacked",
        _format_usd_tick if view.measure == "usd" else _format_token_tick,
        limit,
    )
    return render_panel(
        f"In {unit}",
        svg.render_legend(names),
        svg.render_plot(plot),
        None
        if limit is None
        else h.p(class_="soft")[
            f"The dashed line is the limit of {_format_usd_tick(limit)} a day."
        ],
        h.details[
            h.summary["The same as a table"],
            render_table(
                "By time",
                (
                    "When",
                    *(TableColumn(show_hidden_characters(name), "number") for name in names),
                ),
                (
                    (
                        column.label,
                        *(plot.format_value(column.parts.get(name, 0.0)) for name in names),
                    )
                    for column in columns
                ),
            ),
        ],
    )


def _find_day_limit(view: View, days: Days, agents: Sequence[AgentReport]) -> float | None:
    """Return the dollars a day that those shown may cost; None if one of them has no limit."""
    if view.measure != "usd" or days.length == 1:
        return None
    shown = [
        one for one in agents if not one.parent and (not view.agent or one.agent_id == view.agent)
    ]
    limits = [
        next((use.usd_limit for use in one.budgets if use.window == "Day"), None) for one in shown
    ]
    known = [limit for limit in limits if limit is not None]
    return sum(known) if known and len(known) == len(limits) else None


def _name_days(days: Days) -> str:
    if days.name in ("7", str(DEFAULT_DAYS)):
        return f"the last {days.length} days"
    if days.name == OTHER:
        return f"{days.length} days" if days.length > 1 else days.since.isoformat()
    return RANGES[days.name]


def _describe_total(total: ExpenseSum, found: Period, request: ScreenRequest) -> str:
    unknown = (
        f", and {figures.format_plural(total.unpriced, 'call')} without a known price"
        if total.unpriced
        else ""
    )
    lost = (
        f" {figures.format_plural(total.lost, 'call')} cut off, counted as reserved."
        if total.lost
        else ""
    )
    days = found.days
    span = f"{days.since}" if days.length == 1 else f"{days.since} to {days.until}"
    return (
        f"{figures.format_usd(total.usd)} and {figures.format_tokens(total.tokens)} tokens"
        f" from {span} ({request.zone.key}){unknown}.{lost}{_describe_change(total, found)}"
    )


def _describe_change(total: ExpenseSum, found: Period) -> str:
    """Compare with as many days before."""
    before = expense_periods.sum_all(found.before)
    if not before.usd:
        return ""
    days = found.days.length
    span = "day" if days == 1 else f"{days} days"
    change = round(100 * (total.usd - before.usd) / before.usd)
    words = f"{abs(change)} % {'more' if change > 0 else 'less'} than" if change else "As much as"
    return f" {words} in the {span} before ({figures.format_usd(before.usd)})."


def _describe_pace(total: ExpenseSum, found: Period, request: ScreenRequest) -> str:
    """Estimate the cost of a month, from a week of data on."""
    began = min(expense_periods.find_day(slot, request) for slot in found.slots)
    days = (found.days.until - began).days + 1
    if days < WEEK or not total.usd:
        return ""
    return f" At this pace a month costs {figures.format_usd(total.usd / days * DEFAULT_DAYS)}."


def _render_choices(view: View, days: Days, agents: KnownAgents) -> h.Node:
    ranges = [
        (text, _build_link(view, range=name), days.name == name)
        for name, text in RANGES.items()
        if name != OTHER
    ]
    return [
        render_chips(ranges, "Days"),
        h.form(method="get", class_="filters")[
            h.label[h.span["Agent"], render_agent_choice("agent", agents, view.agent, none="all")],
            _render_list("Split by", "by", [(name, name) for name in KEYS], view.by),
            _render_list("In", "in", list(MEASURES.items()), view.measure),
            _render_day("From", "from", days.since.isoformat()),
            _render_day("To", "to", days.until.isoformat()),
            render_button("Show"),
        ],
    ]


def _build_link(view: View, **days: str) -> str:
    return build_link("costs", agent=view.agent, by=view.by, in_=view.measure, **days)


def _render_list(
    label: str, name: str, choices: Sequence[tuple[str, str]], chosen: str
) -> h.Element:
    return h.label[h.span[label], render_choice(name, choices, chosen)]


def _render_day(label: str, name: str, value: str) -> h.Element:
    return h.label[
        h.span[label],
        h.input(
            name=name, value=value, size="10", placeholder="2026-01-31", pattern=r"\d{4}-\d\d-\d\d"
        ),
    ]


def _render_cost_table(
    ranked: Sequence[ExpenseSum], before: Mapping[str, ExpenseSum], by: str
) -> h.Node:
    heads = (
        TableColumn(by.capitalize(), "id"),
        TableColumn("Calls", "number"),
        TableColumn("Prompt", "number"),
        TableColumn("Cached", "number"),
        TableColumn("Completion", "number"),
        TableColumn("Cost", "number"),
        TableColumn("Before", "number"),
        TableColumn("A call", "number"),
        TableColumn("Background", "number"),
    )
    return render_table(
        f"By {by}", heads, (_render_cost_row(one, before.get(one.name)) for one in ranked)
    )


def _render_cost_row(one: ExpenseSum, before: ExpenseSum | None) -> Sequence[h.Node]:
    return (
        show_hidden_characters(one.name),
        figures.format_count(one.calls),
        figures.format_tokens(one.prompt),
        f"{100 * one.cached // one.prompt} %" if one.prompt and one.cached else "",
        figures.format_tokens(one.completion),
        [figures.format_usd(one.usd), f" + {one.unpriced} unknown" if one.unpriced else None],
        "" if before is None else figures.format_usd(before.usd),
        figures.format_usd(one.usd / one.calls) if one.calls else "",
        f"{100 * one.background // one.tokens} %" if one.tokens else "",
    )


def _render_ends(days: Days, view: View) -> h.Element:
    span = {"from_": days.since.isoformat(), "to": days.until.isoformat()}
    link = build_link("costs.csv", agent=view.agent, **span)
    return h.p(class_="soft")[
        h.a(href=link)["These numbers as CSV"],
        [" · in a terminal: ", h.code[f"orchestrator usage --by {view.by}"]]
        if view.by != "model"
        else None,
    ]


def _merge_unnamed_parts(column: Column, names: Sequence[str]) -> Column:
    """Merge the parts without a name of their own."""
    parts = {name: value for name, value in column.parts.items() if name in names}
    rest = column.total - sum(parts.values())
    return Column(column.label, {**parts, OTHERS: rest} if OTHERS in names else parts)


def _format_usd_tick(value: float) -> str:
    return f"${value:.4f}".rstrip("0").ljust(len(f"${value:.0f}") + 3, "0")


def _format_token_tick(value: float) -> str:
    return figures.format_tokens(round(value))


SCREENS = (
    PageScreen(
        "/costs",
        "Costs",
        Right.LOOK,
        _show_costs,
        "Costs",
        stamp=stamps.read_newest_work,
        when_cut="Choose fewer days, by adding ?from=2026-01-31 to the address.",
    ),
    *expense_advice.SCREENS,
    PageScreen("/costs.csv", "Costs as CSV", Right.LOOK, _send_costs_csv, "Costs"),
)
