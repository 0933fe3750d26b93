"""Costs: by day, and by agent, model or purpose."""

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
from orchestrator.control.page_access import Right
from orchestrator.control.protocol import AgentReport, StatusReport
from orchestrator.journal.inspect import spending_days
from orchestrator.journal.inspect.spending_days import SlotSpent
from orchestrator.page.html import figures, svg
from orchestrator.page.html.forms import link
from orchestrator.page.html.outside_text import visible
from orchestrator.page.html.svg import Column
from orchestrator.page.html.tables import panel, table
from orchestrator.page.screens.now import budget
from orchestrator.page.visit import Screen, Shown, Visit

WEEK = 7  # days that tell a pace
DAYS, MOST = 30, 93  # shown unless the address says something else, and at most
KEYS: Mapping[str, Callable[[SlotSpent], str]] = {
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
    """What one agent, model or purpose used."""

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

    def plus(self, slot: SlotSpent) -> "ExpenseSum":
        """Return it with what was used in one slot."""
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
    """The days that are shown, the last one included, and what was used in them."""

    since: date
    until: date
    slots: Sequence[SlotSpent]


async def _period(visit: Visit) -> Period:
    today = datetime.fromtimestamp(visit.now / 1000, visit.zone).date()
    until = _day(visit.query.get("to")) or today
    since = _day(visit.query.get("from")) or until - timedelta(days=DAYS - 1)
    since = max(since, until - timedelta(days=MOST - 1))
    slots = [slot for day in _days(since, until) for slot in await _spent(visit, day)]
    return Period(since, until, slots)


async def _spent(visit: Visit, day: date) -> Sequence[SlotSpent]:
    """Return what was used on a day: a query for each, so that none takes too long."""
    begin, end = _start(day, visit.zone), _start(day + timedelta(days=1), visit.zone)
    return await visit.journal(spending_days.find, begin, end)


def _days(since: date, until: date) -> Sequence[date]:
    return [since + timedelta(days=number) for number in range((until - since).days + 1)]


async def _body(visit: Visit) -> Shown:
    budgets = None
    if visit.daemon is not None:
        report = await visit.daemon.ask(protocol.STATUS, None, StatusReport)
        budgets = _budgets(report.agents)
    found = await _period(visit)
    return [draw(visit, found.slots, found.since, found.until), budgets]


async def _csv(visit: Visit) -> Shown:
    found = await _period(visit)
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(("day", "agent", "model", "purpose", *MEASURED, "usd", "unpriced_calls"))
    for slot in found.slots:
        day = datetime.fromtimestamp(slot.at / 1000, visit.zone).date().isoformat()
        names = (slot.agent_id, slot.model, slot.purpose)
        counts = (getattr(slot, name) for name in MEASURED)
        writer.writerow((day, *map(_cell, names), *counts, slot.usd, slot.unpriced))
    name = f"costs-{found.since}-{found.until}.csv"
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(text.getvalue(), headers=headers, media_type="text/csv; charset=utf-8")


def _cell(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text


def _budgets(agents: Sequence[AgentReport]) -> h.Node:
    limited = [agent for agent in agents if agent.budgets]
    if not limited:
        return h.p(class_="soft")[
            "No agent has a limit. ", h.a(href="/manual/agents-json")["How to set one"]
        ]
    rows = ((visible(agent.agent_id), map(budget, agent.budgets)) for agent in limited)
    return panel("Budgets", table("Budgets", ("Agent", "Used"), rows))


def draw(visit: Visit, slots: Sequence[SlotSpent], since: date, until: date) -> h.Node:
    """Draw the screen."""
    by = visit.query.get("by", "agent")
    by = by if by in KEYS else "agent"
    measure = "tokens" if visit.query.get("in") == "tokens" else "usd"
    sums: dict[str, ExpenseSum] = {}
    for slot in slots:
        name = KEYS[by](slot)
        sums[name] = sums.get(name, ExpenseSum(name)).plus(slot)
    ranked = sorted(sums.values(), key=lambda one: (getattr(one, measure), one.name), reverse=True)
    names = [one.name for one in ranked][: svg.KINDS]
    if len(ranked) > svg.KINDS:
        names[-1] = OTHERS
    days = [
        _merged(day, names) for day in _columns(slots, since, until, visit.zone, KEYS[by], measure)
    ]
    total = ExpenseSum("all")
    for slot in slots:
        total = total.plus(slot)
    return [
        h.p(class_="lead")[
            _sentence(total, since, until, visit), _pace(total, slots, until, visit)
        ],
        _choices(by, measure, since, until),
        panel(
            f"By day, in {'dollars' if measure == 'usd' else 'tokens'}",
            _legend(names),
            h.div(class_="scroll plot", tabindex="0", role="region", aria_label="By day, drawn")[
                svg.columns(days, names, f"Stacked by {by}, a column for each day")
            ],
            h.details[
                h.summary["The same as a table"],
                table(
                    "By day",
                    ("Day", *(f"#{visible(name)}" for name in names)),
                    (
                        (day.label, *(_amount(day.parts.get(name, 0.0), measure) for name in names))
                        for day in days
                    ),
                ),
            ],
        )
        if slots
        else h.p(class_="empty")["No model was asked in this time."],
        panel(f"By {by}", _table(ranked, by)) if slots else None,
        h.p(class_="soft")[
            h.a(href=link("costs.csv", from_=since.isoformat(), to=until.isoformat()))[
                "These numbers as CSV"
            ],
            [" · in a terminal: ", h.code[f"orchestrator usage --by {by}"]]
            if by != "model"
            else None,
        ],
    ]


def _sentence(total: ExpenseSum, since: date, until: date, visit: Visit) -> str:
    days = (until - since).days + 1
    unknown = f", and {total.unpriced} calls without a known price" if total.unpriced else ""
    lost = f" {total.lost} calls were cut off and count as reserved." if total.lost else ""
    return (
        f"{figures.usd(total.usd)} and {figures.tokens(total.tokens)} tokens in {days} days"
        f" ({visit.zone.key}){unknown}.{lost}"
    )


def _pace(total: ExpenseSum, slots: Sequence[SlotSpent], until: date, visit: Visit) -> str:
    """Say what a month would cost, once there is a week to tell it by."""
    began = min((slot.at for slot in slots), default=visit.now)
    days = (until - datetime.fromtimestamp(began / 1000, visit.zone).date()).days + 1
    if days < WEEK:
        return ""
    return f" At this pace a month costs {figures.usd(total.usd / days * DAYS)}."


def _choices(by: str, measure: str, since: date, until: date) -> h.Element:
    def choice(name: str, label: str, values: Sequence[str], chosen: str) -> h.Element:
        return h.label[
            h.span[label],
            h.select(name=name)[
                (h.option(value=value, selected=value == chosen)[value] for value in values)
            ],
        ]

    return h.form(method="get", class_="filters")[
        h.label[h.span["from"], h.input(type="date", name="from", value=since.isoformat())],
        h.label[h.span["to"], h.input(type="date", name="to", value=until.isoformat())],
        choice("by", "by", tuple(KEYS), by),
        choice("in", "in", MEASURES, measure),
        h.button["Show"],
    ]


def _legend(names: Sequence[str]) -> h.Element:
    return h.p[
        (
            [
                h.svg(
                    width="12",
                    height="12",
                    viewBox="0 0 12 12",
                    aria_hidden="true",
                    class_="legend",
                )[h.rect(class_=svg.kind(index), width="12", height="12")],
                f" {visible(name)}  ",
            ]
            for index, name in enumerate(names)
        )
    ]


def _table(ranked: Sequence[ExpenseSum], by: str) -> h.Node:
    heads = (
        by.capitalize(),
        "#Calls",
        "#Prompt",
        "#Cached",
        "#Completion",
        "#Cost",
        "#A call",
        "#Background",
    )
    return table(
        f"By {by}",
        heads,
        (
            (
                visible(one.name),
                figures.count(one.calls),
                figures.tokens(one.prompt),
                f"{100 * one.cached // one.prompt} %" if one.prompt else "",
                figures.tokens(one.completion),
                [figures.usd(one.usd), f" + {one.unpriced} unknown" if one.unpriced else None],
                figures.usd(one.usd / one.calls) if one.calls else "",
                f"{100 * one.background // one.tokens} %" if one.tokens else "",
            )
            for one in ranked
        ),
    )


def _columns(
    slots: Sequence[SlotSpent],
    since: date,
    until: date,
    zone: ZoneInfo,
    key: Callable[[SlotSpent], str],
    measure: str,
) -> list[Column]:
    days: dict[date, dict[str, float]] = {day: {} for day in _days(since, until)}
    for slot in slots:
        parts = days.get(datetime.fromtimestamp(slot.at / 1000, zone).date())
        if parts is not None:
            value = slot.usd if measure == "usd" else float(slot.prompt + slot.completion)
            parts[key(slot)] = parts.get(key(slot), 0.0) + value
    return [Column(f"{day:%d %b}", parts) for day, parts in days.items()]


def _merged(day: Column, names: Sequence[str]) -> Column:
    """Put the parts that have no name of their own together."""
    parts = {name: value for name, value in day.parts.items() if name in names}
    rest = sum(day.parts.values()) - sum(parts.values())
    return Column(day.label, {**parts, OTHERS: rest} if OTHERS in names else parts)


def _amount(value: float, measure: str) -> str:
    return figures.usd(value) if measure == "usd" else figures.tokens(int(value))


def _day(text: str | None) -> date | None:
    try:
        found = date.fromisoformat(text or "")
    except ValueError:
        return None
    return found if found.year in YEARS else None


def _start(day: date, zone: ZoneInfo) -> int:
    return int(datetime.combine(day, time(), zone).astimezone(UTC).timestamp() * 1000)


SCREENS = (
    Screen("/costs", "Costs", Right.LOOK, _body, "Costs"),
    Screen("/costs.csv", "Costs as CSV", Right.LOOK, _csv, "Costs"),
)
