"""Costs by day, and by agent, model or purpose."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

import htpy as h
from starlette.responses import Response

from orchestrator.control import protocol
from orchestrator.control.protocol import AgentReport, StatusReport
from orchestrator.control.roles import Right
from orchestrator.extensions.page.html import figures, svg
from orchestrator.extensions.page.html.forms import build_link
from orchestrator.extensions.page.html.outside_text import show_hidden_characters
from orchestrator.extensions.page.html.parts import render_panel
from orchestrator.extensions.page.html.svg import Column
from orchestrator.extensions.page.html.tables import TableColumn, render_table
from orchestrator.extensions.page.reads import spending_days, stamps
from orchestrator.extensions.page.reads.spending_days import SpendingSlot
from orchestrator.extensions.page.screen_request import PageScreen, ScreenRequest, ScreenResult
from orchestrator.extensions.page.screens.now import render_budget

WEEK = 7  # days needed to estimate a pace
DEFAULT_DAYS, MAX_DAYS = 30, 93  # shown by default, and at most
KEYS: Mapping[str, Callable[[SpendingSlot], str]] = {
    "agent": lambda slot: slot.agent_id,
    "model": lambda slot: slot.model,
    "purpose": lambda slot: slot.purpose,
}
YEARS = range(1971, 2200)
OTHERS = "all others"
MEASURES = ("usd", "tokens")
MEASURED = ("calls", "prompt", "cached", "completion")  # columns of the CSV file


@dataclass(frozen=True)
class ExpenseSum:
    """The usage of one agent, model or purpose."""

    name: str
    calls: int = 0
    prompt: int = 0
    cached: int = 0
    completion: int = 0
    usd: float = 0.0
    unpriced: int = 0
    lost: int = 0
    background: int = 0  # tokens that were for no answer

    @property
    def tokens(self) -> int:
        return self.prompt + self.completion

    def add_slot(self, slot: SpendingSlot) -> "ExpenseSum":
        """Return the sum with the usage of one more slot."""
        tokens = slot.prompt + slot.completion
        return replace(
            self,
            calls=self.calls + slot.calls,
            prompt=self.prompt + slot.prompt,
            cached=self.cached + slot.cached,
            completion=self.completion + slot.completion,
            usd=self.usd + slot.usd,
            unpriced=self.unpriced + slot.unpriced,
            lost=self.lost + slot.lost,
            background=self.background + (tokens if slot.purpose != "turn" else 0),
        )


class Period(NamedTuple):
    """The displayed days, including the last one, with their usage."""

    since: date
    until: date
    slots: Sequence[SpendingSlot]


async def _load_period(request: ScreenRequest) -> Period:
    today = datetime.fromtimestamp(request.now / 1000, request.zone).date()
    until = _parse_day(request.query.get("to")) or today
    since = _parse_day(request.query.get("from")) or until - timedelta(days=DEFAULT_DAYS - 1)
    since = max(since, until - timedelta(days=MAX_DAYS - 1))
    slots = [
        slot for day in _list_days(since, until) for slot in await _list_spent_slots(request, day)
    ]
    return Period(since, until, slots)


async def _list_spent_slots(request: ScreenRequest, day: date) -> Sequence[SpendingSlot]:
    """Return the usage of one day, with a short query."""
    begin, end = (
        _compute_day_start(day, request.zone),
        _compute_day_start(day + timedelta(days=1), request.zone),
    )
    return await request.journal(spending_days.list_spending_slots, begin, end)


def _list_days(since: date, until: date) -> Sequence[date]:
    return [since + timedelta(days=number) for number in range((until - since).days + 1)]


async def _show_costs(request: ScreenRequest) -> ScreenResult:
    budgets = None
    if request.daemon is not None:
        report = await request.daemon.ask_daemon(protocol.STATUS, None, StatusReport)
        budgets = _render_budgets(report.agents)
    found = await _load_period(request)
    return [render_costs(request, found.slots, found.since, found.until), budgets]


async def _send_costs_csv(request: ScreenRequest) -> ScreenResult:
    found = await _load_period(request)
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(("day", "agent", "model", "purpose", *MEASURED, "usd", "unpriced_calls"))
    for slot in found.slots:
        day = datetime.fromtimestamp(slot.at / 1000, request.zone).date().isoformat()
        names = (slot.agent_id, slot.model, slot.purpose)
        counts = (getattr(slot, name) for name in MEASURED)
        writer.writerow((day, *map(_escape_csv_cell, names), *counts, slot.usd, slot.unpriced))
    name = f"costs-{found.since}-{found.until}.csv"
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(text.getvalue(), headers=headers, media_type="text/csv; charset=utf-8")


def _escape_csv_cell(text: str) -> str:
    """Escape text that a spreadsheet would read as a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text


def _render_budgets(agents: Sequence[AgentReport]) -> h.Node:
    limited = [agent for agent in agents if agent.budgets]
    if not limited:
        return h.p(class_="soft")[
            "No agent has a limit. ", h.a(href="/manual/agents-json")["How to set one"]
        ]
    rows = (
        (show_hidden_characters(agent.agent_id), map(render_budget, agent.budgets))
        for agent in limited
    )
    return render_panel("Budgets", render_table("Budgets", ("Agent", "Used"), rows))


def render_costs(
    request: ScreenRequest, slots: Sequence[SpendingSlot], since: date, until: date
) -> h.Node:
    """Render the screen."""
    by = request.query.get("by", "agent")
    by = by if by in KEYS else "agent"
    measure = "tokens" if request.query.get("in") == "tokens" else "usd"
    sums: dict[str, ExpenseSum] = {}
    for slot in slots:
        name = KEYS[by](slot)
        sums[name] = sums.get(name, ExpenseSum(name)).add_slot(slot)
    ranked = sorted(sums.values(), key=lambda one: (getattr(one, measure), one.name), reverse=True)
    names = [one.name for one in ranked][: svg.KINDS]
    if len(ranked) > svg.KINDS:
        names[-1] = OTHERS
    days = [
        _merge_unnamed_parts(day, names)
        for day in _build_columns(slots, since, until, request.zone, KEYS[by], measure)
    ]
    total = ExpenseSum("all")
    for slot in slots:
        total = total.add_slot(slot)
    return [
        h.p(class_="lead")[
            _describe_total(total, since, until, request),
            _describe_pace(total, slots, until, request),
        ],
        _render_choices(by, measure, since, until),
        render_panel(
            f"By day, in {'dollars' if measure == 'usd' else 'tokens'}",
            _render_legend(names),
            h.div(class_="scroll plot", tabindex="0", role="region", aria_label="By day, drawn")[
                svg.render_columns(days, names, f"Stacked by {by}, a column for each day")
            ],
            h.details[
                h.summary["The same as a table"],
                render_table(
                    "By day",
                    (
                        "Day",
                        *(TableColumn(show_hidden_characters(name), "number") for name in names),
                    ),
                    (
                        (
                            day.label,
                            *(_format_amount(day.parts.get(name, 0.0), measure) for name in names),
                        )
                        for day in days
                    ),
                ),
            ],
        )
        if slots
        else h.p(class_="empty")["No model calls in this period."],
        render_panel(f"By {by}", _render_cost_table(ranked, by)) if slots else None,
        h.p(class_="soft")[
            h.a(href=build_link("costs.csv", from_=since.isoformat(), to=until.isoformat()))[
                "These numbers as CSV"
            ],
            [" · in a terminal: ", h.code[f"orchestrator usage --by {by}"]]
            if by != "model"
            else None,
        ],
    ]


def _describe_total(total: ExpenseSum, since: date, until: date, request: ScreenRequest) -> str:
    days = (until - since).days + 1
    unknown = f", and {total.unpriced} calls without a known price" if total.unpriced else ""
    lost = f" {total.lost} calls were cut off and count as reserved." if total.lost else ""
    return (
        f"{figures.format_usd(total.usd)} and {figures.format_tokens(total.tokens)} tokens"
        f" in {days} days ({request.zone.key}){unknown}.{lost}"
    )


def _describe_pace(
    total: ExpenseSum, slots: Sequence[SpendingSlot], until: date, request: ScreenRequest
) -> str:
    """Estimate the cost of a month, from a week of data on."""
    began = min((slot.at for slot in slots), default=request.now)
    days = (until - datetime.fromtimestamp(began / 1000, request.zone).date()).days + 1
    if days < WEEK:
        return ""
    return f" At this pace a month costs {figures.format_usd(total.usd / days * DEFAULT_DAYS)}."


def _render_choices(by: str, measure: str, since: date, until: date) -> h.Element:
    def render_choice(name: str, label: str, values: Sequence[str], chosen: str) -> h.Element:
        return h.label[
            h.span[label],
            h.select(name=name)[
                (h.option(value=value, selected=value == chosen)[value] for value in values)
            ],
        ]

    return h.form(method="get", class_="filters")[
        h.label[h.span["from"], h.input(type="date", name="from", value=since.isoformat())],
        h.label[h.span["to"], h.input(type="date", name="to", value=until.isoformat())],
        render_choice("by", "by", tuple(KEYS), by),
        render_choice("in", "in", MEASURES, measure),
        h.button["Show"],
    ]


def _render_legend(names: Sequence[str]) -> h.Element:
    return h.p[
        (
            [
                h.svg(
                    width="12",
                    height="12",
                    viewBox="0 0 12 12",
                    aria_hidden="true",
                    class_="legend",
                )[h.rect(class_=svg.get_series_class(index), width="12", height="12")],
                f" {show_hidden_characters(name)}  ",
            ]
            for index, name in enumerate(names)
        )
    ]


def _render_cost_table(ranked: Sequence[ExpenseSum], by: str) -> h.Node:
    heads = (
        by.capitalize(),
        TableColumn("Calls", "number"),
        TableColumn("Prompt", "number"),
        TableColumn("Cached", "number"),
        TableColumn("Completion", "number"),
        TableColumn("Cost", "number"),
        TableColumn("A call", "number"),
        TableColumn("Background", "number"),
    )
    return render_table(
        f"By {by}",
        heads,
        (
            (
                show_hidden_characters(one.name),
                figures.format_count(one.calls),
                figures.format_tokens(one.prompt),
                f"{100 * one.cached // one.prompt} %" if one.prompt and one.cached else "",
                figures.format_tokens(one.completion),
                [
                    figures.format_usd(one.usd),
                    f" + {one.unpriced} unknown" if one.unpriced else None,
                ],
                figures.format_usd(one.usd / one.calls) if one.calls else "",
                f"{100 * one.background // one.tokens} %" if one.tokens else "",
            )
            for one in ranked
        ),
    )


def _build_columns(
    slots: Sequence[SpendingSlot],
    since: date,
    until: date,
    zone: ZoneInfo,
    key: Callable[[SpendingSlot], str],
    measure: str,
) -> list[Column]:
    days: dict[date, dict[str, float]] = {day: {} for day in _list_days(since, until)}
    for slot in slots:
        parts = days.get(datetime.fromtimestamp(slot.at / 1000, zone).date())
        if parts is not None:
            value = slot.usd if measure == "usd" else float(slot.prompt + slot.completion)
            parts[key(slot)] = parts.get(key(slot), 0.0) + value
    return [Column(f"{day:%d %b}", parts) for day, parts in days.items()]


def _merge_unnamed_parts(day: Column, names: Sequence[str]) -> Column:
    """Merge the parts without a name of their own."""
    parts = {name: value for name, value in day.parts.items() if name in names}
    rest = sum(day.parts.values()) - sum(parts.values())
    return Column(day.label, {**parts, OTHERS: rest} if OTHERS in names else parts)


def _format_amount(value: float, measure: str) -> str:
    return figures.format_usd(value) if measure == "usd" else figures.format_tokens(int(value))


def _parse_day(text: str | None) -> date | None:
    try:
        found = date.fromisoformat(text or "")
    except ValueError:
        return None
    return found if found.year in YEARS else None


def _compute_day_start(day: date, zone: ZoneInfo) -> int:
    return int(datetime.combine(day, time(), zone).astimezone(UTC).timestamp() * 1000)


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
    PageScreen("/costs.csv", "Costs as CSV", Right.LOOK, _send_costs_csv, "Costs"),
)
