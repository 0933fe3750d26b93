"""The forecasts of a home: of its agents, and of all together."""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from orchestrator.extensions.spending_advice.cost_answers import AgentForecast, ForeseenSum, Unit
from orchestrator.extensions.spending_advice.forecasting import DAY, HOUR, Forecast, Span, UseByHour
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns.usage import AGENTS, SHARED
from orchestrator.spending.spending_rules import SpendingRules

READ_DAYS = 120  # as far as a forecast of a month and its error look back
HOURS = """SELECT at / 3600000, coalesce(sum(usd), 0.0), sum(prompt + completion) FROM model_call
  WHERE agent_id {} AND at >= ? GROUP BY 1"""
TOO_LITTLE = "no forecast yet: it needs a week of use"
PERIODS = {"day": "today", "month": "this month"}


class Periods(NamedTuple):
    """The day and the month of a moment."""

    day: Span
    month: Span


def find_periods(now: int, zone: ZoneInfo) -> Periods:
    """Return the day and the month that a moment is in; both begin at midnight in ``zone``."""
    today = datetime.fromtimestamp(now / 1000, UTC).astimezone(zone)
    today = today.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    first = today.replace(day=1)
    after = (first + timedelta(days=32)).replace(day=1)
    marks = (today, today + timedelta(days=1), first, after)
    begin, end, month, next_month = (round(one.timestamp() * 1000) for one in marks)
    return Periods(Span(begin, end), Span(month, next_month))


def load_use(
    db: Database, agent_id: str, now: int, zone: ZoneInfo, unit: Unit = "usd"
) -> UseByHour:
    """Read what an agent, or all (`SHARED`), used in each hour of the last months."""
    since = now - READ_DAYS * DAY * HOUR
    if agent_id == SHARED:
        rows = db.execute(HOURS.format(f"IN({AGENTS})"), (since,))
    else:
        rows = db.execute(HOURS.format("= ?"), (agent_id, since))
    column = 1 if unit == "usd" else 2
    return UseByHour({int(row[0]): float(row[column]) for row in rows}, zone)


def forecast_agent(db: Database, rules: SpendingRules, agent_id: str) -> AgentForecast:
    """Foresee what an agent, or all (`SHARED`), will have used today and this month.

    Where nothing has a price, it foresees tokens.
    """
    _, zone = rules.find_budget(agent_id)
    return foresee_use(db, agent_id, rules.clock(), zone)


def foresee_use(db: Database, agent_id: str, now: int, zone: ZoneInfo) -> AgentForecast:
    """Foresee the use of an agent, or of all (`SHARED`), in the days and months of ``zone``."""
    unit: Unit = "usd"
    use = load_use(db, agent_id, now, zone, unit)
    if not any(use.hours.values()):
        unit = "tokens"
        use = load_use(db, agent_id, now, zone, unit)
    sums = [
        _build_sum(name, unit, found)
        for name, span in find_periods(now, zone)._asdict().items()
        if (found := use.forecast_total(span, now)) is not None
    ]
    text = ", ".join(f"{PERIODS[one.period]} {_describe_sum(one)}" for one in sums)
    return AgentForecast(agent_id=agent_id, sums=tuple(sums), text=text or TOO_LITTLE)


def list_forecasts(
    db: Database, rules: SpendingRules, asked: str | None = None
) -> tuple[AgentForecast, ...]:
    """Return the forecast of all agents together and then of each, or only the one asked for."""
    names = (SHARED, *(agent.agent_id for agent in rules.agents.agents))
    names = names if asked is None else (asked,)
    return tuple(forecast_agent(db, rules, name) for name in names)


def _build_sum(period: str, unit: Unit, found: Forecast) -> ForeseenSum:
    return ForeseenSum.model_validate({"period": period, "unit": unit} | found._asdict())


def _describe_sum(one: ForeseenSum) -> str:
    error = "error not known yet" if one.error is None else f"± {max(1, round(100 * one.error))} %"
    if one.unit == "tokens":
        return f"about {one.total:,.0f} tokens ({error})"
    digits = 2 if one.total >= 0.1 else 4  # noqa: PLR2004 - ten cents
    return f"about ${one.total:.{digits}f} ({error})"
