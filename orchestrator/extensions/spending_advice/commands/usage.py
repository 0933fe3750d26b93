"""``orchestrator usage``: tokens and money, by agent and day."""

import time
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated
from zoneinfo import ZoneInfo

import typer

from orchestrator.cli.commands import make_command_group
from orchestrator.cli.known_agents import require_agent
from orchestrator.cli.options import AsJson, Home, load_environment, load_settings
from orchestrator.cli.output import print_text
from orchestrator.cli.tables import Columns, print_json, print_records
from orchestrator.control.camel_model import CamelModel
from orchestrator.extensions.spending_advice.cost_answers import AgentForecast
from orchestrator.extensions.spending_advice.outlook import foresee_use
from orchestrator.extensions.spending_advice.spending_sums import count_unpriced_calls
from orchestrator.extensions.spending_advice.usage_totals import UsageTotal, list_totals
from orchestrator.journal.opening import open_for_reading
from orchestrator.journal.turns.usage import SHARED
from orchestrator.spending import budgets
from orchestrator.timezones import load_zone_or_utc

UNSETTLED = (
    "unsettled: tokens reserved for running calls, or for calls whose end the daemon did not see;"
    " they count against budgets."
)
app = make_command_group()


class Grouping(StrEnum):
    """The key by which lines of the table sum usage."""

    AGENT = "agent"
    PURPOSE = "purpose"


class UsageDay(CamelModel):
    """One agent's day. ``unsettled_tokens`` are reserved for calls whose usage is unknown.

    ``purpose`` is None if the calls of all purposes are summed, and for calls of unknown purpose.
    """

    day: str
    agent_id: str
    calls: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    unsettled_tokens: int
    usd: float
    unpriced_calls: int
    purpose: str | None = None


class UsageReport(CamelModel):
    """The output of ``usage --json``, the oldest day first."""

    timezone: str
    days: tuple[UsageDay, ...]
    models_without_price: tuple[str, ...]
    forecast: AgentForecast


@app.command()
def usage(
    *,
    agent: Annotated[str | None, typer.Option(help="Show only this agent.")] = None,
    days: Annotated[int, typer.Option(min=1, max=366, help="Days to show, today included.")] = 7,
    by: Annotated[
        Grouping, typer.Option(help="Add up each agent's day, or each purpose in it.")
    ] = Grouping.AGENT,
    as_json: AsJson = False,
    home: Home = None,
) -> None:
    """Show how many tokens the agents used, and what they cost.

    Every model call counts. Days are in this machine's time zone. Purposes are turns, compaction
    (summaries), facts, embedding, voice and pictures.
    """
    settings = load_settings(home)
    zone = load_zone_or_utc(None, load_environment(settings))
    now = time.time_ns() // 1_000_000
    with open_for_reading(settings.journal) as db:
        found = tuple(
            _build_usage_day(total, since, zone)
            for number in reversed(range(days))
            for since, until in [
                (
                    budgets.find_midnight_before(number, now, zone),
                    budgets.find_midnight_before(number - 1, now, zone),
                )
            ]
            for total in list_totals(db, since, until, by_purpose=by is Grouping.PURPOSE)
            if agent in (None, total.agent_id)
        )
        since = budgets.find_midnight_before(days - 1, now, zone)
        agents = {day.agent_id for day in found}
        forecast = foresee_use(db, agent or SHARED, now, zone)
        unpriced = {model for name in agents for model in count_unpriced_calls(db, name, since)}
    if agent is not None and not found:
        require_agent(settings, agent)
    report = UsageReport(
        timezone=zone.key,
        days=found,
        models_without_price=tuple(sorted(unpriced)),
        forecast=forecast,
    )
    if as_json:
        print_json(report)
    elif found:
        _print_usage(report, by)
    else:
        typer.echo("no model calls in this period")


def _build_usage_day(total: UsageTotal, since: int, zone: ZoneInfo) -> UsageDay:
    return UsageDay.from_object(
        total,
        day=f"{datetime.fromtimestamp(since / 1000, UTC).astimezone(zone):%Y-%m-%d}",
        prompt_tokens=total.prompt,
        cached_tokens=total.cached,
        completion_tokens=total.completion,
        unsettled_tokens=total.unsettled,
        unpriced_calls=total.unpriced,
    )


def _print_usage(report: UsageReport, by: Grouping) -> None:
    columns = COLUMNS if by is Grouping.AGENT else {**COLUMNS, "purpose": _format_purpose}
    print_records(f"Usage ({report.timezone})", report.days, columns)
    print_text(f"forecast: {report.forecast.text}")
    if any(item.unsettled_tokens for item in report.days):
        print_text(UNSETTLED)
    if report.models_without_price:
        print_text(budgets.describe_missing_prices(report.models_without_price))


def _format_purpose(day: UsageDay) -> str:
    return day.purpose or "not recorded"


def _format_cached_part(day: UsageDay) -> str:
    known = day.prompt_tokens and day.cached_tokens  # many providers do not report it
    return f"{day.cached_tokens / day.prompt_tokens:.0%}" if known else "-"


def _format_dollars(item: UsageDay) -> str:
    if not item.unpriced_calls:
        return f"{item.usd:.4f}"
    return f"{item.usd:.4f} + unknown" if item.usd else "unknown"


COLUMNS: Columns = {
    "day": "day",
    "agent": "agent_id",
    "purpose": "purpose",
    "calls": "calls",
    "prompt": lambda day: f"{day.prompt_tokens:,}",
    "cached": _format_cached_part,
    "output": lambda day: f"{day.completion_tokens:,}",
    "unsettled": lambda day: f"{day.unsettled_tokens:,}" if day.unsettled_tokens else "",
    "USD": _format_dollars,
}
