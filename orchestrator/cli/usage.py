"""``orchestrator usage``: tokens and money, by agent and day."""

import time
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated
from zoneinfo import ZoneInfo

import typer

from orchestrator.cli._agents import require_agent
from orchestrator.cli._options import AsJson, Home, command_group, environment, load_settings
from orchestrator.cli._output import escaped
from orchestrator.cli._prose import say
from orchestrator.cli._tables import table
from orchestrator.control.camel_model import CamelModel
from orchestrator.journal.opening import reading
from orchestrator.journal.turns import usage as journal
from orchestrator.journal.turns.usage import Total
from orchestrator.spending import budgets
from orchestrator.timezones import zone_or_utc

UNSETTLED = (
    "unsettled: tokens reserved for calls that run, or whose end the daemon did not see; they count"
    " against budgets."
)
app = command_group()


class Grouping(StrEnum):
    """What a line of the table sums."""

    AGENT = "agent"
    PURPOSE = "purpose"


class UsageDay(CamelModel):
    """One agent's day. ``unsettled_tokens`` are reserved for calls whose usage is unknown.

    ``purpose`` is None if the calls of all purposes are summed, and of calls whose purpose is
    unknown.
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
    """What ``usage --json`` prints, the oldest day first."""

    timezone: str
    days: tuple[UsageDay, ...]
    models_without_price: tuple[str, ...]


@app.command()
def usage(
    *,
    agent: Annotated[str | None, typer.Option(help="Show only this agent.")] = None,
    days: Annotated[int, typer.Option(min=1, max=366, help="Days to show, today included.")] = 7,
    by: Annotated[
        Grouping, typer.Option(help="Sum each agent's day, or each purpose in it.")
    ] = Grouping.AGENT,
    as_json: AsJson = False,
    home: Home = None,
) -> None:
    """Show how many tokens the agents used, and what they cost.

    Every model call counts. Days are those of this machine's time zone. Purposes are turns,
    compaction (summaries), facts, embedding, voice and pictures.
    """
    settings = load_settings(home)
    zone = zone_or_utc(None, environment(settings))
    now = time.time_ns() // 1_000_000
    with reading(settings.journal) as db:
        found = tuple(
            _day(total, since, zone)
            for number in reversed(range(days))
            for since, until in [
                (budgets.days_ago(number, now, zone), budgets.days_ago(number - 1, now, zone))
            ]
            for total in journal.totals(db, since, until, by_purpose=by is Grouping.PURPOSE)
            if agent in (None, total.agent_id)
        )
        since = budgets.days_ago(days - 1, now, zone)
        agents = {day.agent_id for day in found}
        unpriced = {model for name in agents for model in journal.unpriced(db, name, since)}
    if agent is not None and not found:
        require_agent(settings, agent)
    report = UsageReport(
        timezone=zone.key, days=found, models_without_price=tuple(sorted(unpriced))
    )
    if as_json:
        typer.echo(escaped(report.model_dump_json(by_alias=True, indent=2)))
    elif found:
        _print(report, by)
    else:
        typer.echo("no model was called")


def _day(total: Total, since: int, zone: ZoneInfo) -> UsageDay:
    return UsageDay.from_object(
        total,
        day=f"{datetime.fromtimestamp(since / 1000, UTC).astimezone(zone):%Y-%m-%d}",
        prompt_tokens=total.prompt,
        cached_tokens=total.cached,
        completion_tokens=total.completion,
        unsettled_tokens=total.unsettled,
        unpriced_calls=total.unpriced,
    )


def _print(report: UsageReport, by: Grouping) -> None:
    unknown = "not recorded" if by is Grouping.PURPOSE else ""
    table(
        f"Usage ({report.timezone})",
        ("day", "agent", "purpose", "calls", "prompt", "cached", "output", "unsettled", "USD"),
        (
            (
                item.day,
                item.agent_id,
                item.purpose or unknown,
                item.calls,
                f"{item.prompt_tokens:,}",
                f"{item.cached_tokens / item.prompt_tokens:.0%}" if item.prompt_tokens else "",
                f"{item.completion_tokens:,}",
                f"{item.unsettled_tokens:,}" if item.unsettled_tokens else "",
                _dollars(item),
            )
            for item in report.days
        ),
    )
    if any(item.unsettled_tokens for item in report.days):
        say(UNSETTLED)
    if report.models_without_price:
        say(budgets.without_price(report.models_without_price))


def _dollars(item: UsageDay) -> str:
    if not item.unpriced_calls:
        return f"{item.usd:.4f}"
    return f"{item.usd:.4f} + unknown" if item.usd else "unknown"
