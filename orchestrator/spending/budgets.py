"""What an agent may cost: the anomaly detector and the hard budgets. Pure.

The detector compares the rate of the last minutes with that of the hour before them (formula:
reference/annabelle.md §9); a budget is a limit that nothing may pass.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from orchestrator.agentsfile import Budget, CostControls, Price
from orchestrator.journal.turns.usage import Amount
from thinker.protocol.messages import Usage

MINUTES = 60  # the detector's window; a bucket is one minute
HOUR = 3_600_000  # milliseconds
FIRST_CALL = 4_000  # tokens set aside for an agent's very first call: a prompt with tools
MILLION = 1_000_000  # prices are per million tokens


@dataclass(frozen=True)
class BudgetVerdict:
    """What the detector sees; ``reason`` is why the agent is to be paused, None when it is not.

    Rates are tokens per minute; ``active`` counts the minutes in which there were calls.
    """

    reason: str | None
    hour_tokens: int
    short_rate: float
    baseline_rate: float
    active: int


def window(now: int) -> int:
    """When the detector's window begins, in milliseconds like ``now``."""
    return (now // 60_000 - MINUTES + 1) * 60_000


def assess(buckets: Mapping[int, int], now: int, controls: CostControls) -> BudgetVerdict:
    """Judge the tokens of the last hour, by minute since the epoch; ``now`` in milliseconds.

    Minutes without a call stand in no bucket and do not thin the baseline.
    """
    minute = now // 60_000
    used = {at: tokens for at, tokens in buckets.items() if at > minute - MINUTES}
    begin = minute - controls.short_window_minutes + 1
    short = sum(tokens for at, tokens in used.items() if at >= begin)
    baseline = [tokens for at, tokens in used.items() if at < begin]
    short_rate = short / controls.short_window_minutes
    baseline_rate = sum(baseline) / len(baseline) if baseline else 0.0
    total = short + sum(baseline)
    floor = max(baseline_rate, controls.minimum_baseline_rate)
    reason = None
    if total >= controls.hard_cap_tokens_per_hour:
        reason = (
            f"Hard cap exceeded: {total:,} tokens in the last hour"
            f" (cap: {controls.hard_cap_tokens_per_hour:,})"
        )
    elif (
        sum(baseline) >= controls.minimum_baseline_tokens
        and short_rate > floor * controls.spike_multiplier
    ):
        reason = (
            f"Token spike detected: {rounded(short_rate):,} tokens/min in the last"
            f" {controls.short_window_minutes} min vs {rounded(baseline_rate):,} tokens/min"
            f" baseline ({controls.spike_multiplier:g}x threshold)"
        )
    return BudgetVerdict(reason, total, short_rate, baseline_rate, len(used))


def rounded(rate: float) -> int:
    """Half up, as people expect of a number that they are shown."""
    return math.floor(rate + 0.5)


@dataclass(frozen=True)
class Window:
    """A budget's period: since when it counts (milliseconds), and its limits, None for none."""

    name: str
    since: int
    tokens: int | None
    usd: float | None


def windows(budget: Budget, now: int, zone: ZoneInfo) -> tuple[Window, ...]:
    """The periods that have a limit: the last 60 minutes, today and this month in ``zone``."""
    local = datetime.fromtimestamp(now / 1000, UTC).astimezone(zone)
    day = local.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    every = (
        Window("Hour", now - HOUR, budget.tokens_per_hour, budget.usd_per_hour),
        Window("Day", _milliseconds(day), budget.tokens_per_day, budget.usd_per_day),
        Window(
            "Month",
            _milliseconds(day.replace(day=1)),
            budget.tokens_per_month,
            budget.usd_per_month,
        ),
    )
    return tuple(item for item in every if (item.tokens, item.usd) != (None, None))


def exceeded(limits: Window, held: Amount, wanted: Amount) -> str | None:
    """Why one more call would pass a window's limits, None if it would not.

    ``held`` is what the window holds already, ``wanted`` what the call may take.
    """
    if limits.tokens is not None and held.tokens + wanted.tokens > limits.tokens:
        return (
            f"the budget tokensPer{limits.name} is used up: {held.tokens:,} of {limits.tokens:,},"
            f" and the next call may take {wanted.tokens:,}"
        )
    if limits.usd is not None and held.usd + wanted.usd > limits.usd:
        return (
            f"the budget usdPer{limits.name} is used up: {held.usd:.4f} of {limits.usd:.4f},"
            f" and the next call may cost {wanted.usd:.4f}"
        )
    return None


def cost(price: Price | None, usage: Usage) -> float | None:
    """US dollars of a call; None when its model has no price."""
    if price is None:
        return None
    cached = price.input if price.cached is None else price.cached
    fresh = max(0, usage.prompt - usage.cached)
    spent = fresh * price.input + usage.cached * cached + usage.completion * price.output
    return spent / MILLION


def _milliseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def days_ago(days: int, now: int, zone: ZoneInfo) -> int:
    """Midnight so many days before today in ``zone``; milliseconds."""
    local = datetime.fromtimestamp(now / 1000, UTC).astimezone(zone)
    day = local.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    return _milliseconds(day - timedelta(days=days))
