"""Compute the limits on an agent's cost: the anomaly detector and the hard budgets.

The detector compares the token rate of the last minutes with that of the rest of the last hour.
A budget is a hard limit.

Where: are budgets and unusual spending computed?
"""

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, Self, TypeAlias
from zoneinfo import ZoneInfo

from orchestrator.agentsfile import Budget, CostControls, Price
from orchestrator.agentsfile.costs import MILLION
from orchestrator.journal.turns import usage
from orchestrator.journal.turns.usage import Amount
from thinker.protocol.background import MeteredResult
from thinker.protocol.messages import Usage

SHARED = usage.SHARED  # in place of an agent's id: all agents together
MINUTES = 60  # the detector's window; a bucket is one minute
HOUR = 3_600_000  # milliseconds
FIRST_CALL = 4_000  # tokens reserved for an agent's very first call: a prompt with tools


class BudgetVerdict(NamedTuple):
    """The detector's result; ``reason`` is why to pause the agent, or None.

    Rates are tokens per minute; ``active`` is the number of minutes with calls.
    """

    reason: str | None
    hour_tokens: int
    short_rate: float
    baseline_rate: float
    active: int


def find_window_start(now: int) -> int:
    """Return the start of the detector's window, in milliseconds since the epoch like ``now``."""
    return (now // 60_000 - MINUTES + 1) * 60_000


def assess_usage(buckets: Mapping[int, int], now: int, controls: CostControls) -> BudgetVerdict:
    """Judge the tokens of the last hour. ``now`` is in milliseconds since the epoch.

    ``buckets`` has tokens by minute since the epoch. Minutes without a call have no bucket and do
    not lower the baseline.
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
            f"Token spike detected: {round_half_up(short_rate):,} tokens/min in the last"
            f" {controls.short_window_minutes} min vs {round_half_up(floor):,} tokens/min"
            f" baseline ({controls.spike_multiplier:g}x threshold)"
        )
    return BudgetVerdict(reason, total, short_rate, baseline_rate, len(used))


def round_half_up(rate: float) -> int:
    """Round half up, as people expect in a displayed number."""
    return math.floor(rate + 0.5)


class Window(NamedTuple):
    """A budget's period: its start (milliseconds since the epoch), its limits; None is no limit.

    ``budget`` is what a reason calls the budget.
    """

    name: str
    since: int
    tokens: int | None
    usd: float | None
    budget: str = "budget"

    def extend_dollars(self, more: float) -> "Window":
        """Return the period with a limit that is so many dollars higher, if it has one."""
        return self if self.usd is None or not more else self._replace(usd=self.usd + more)


def list_budget_windows(
    budget: Budget | None, now: int, zone: ZoneInfo, name: str = "budget"
) -> tuple[Window, ...]:
    """List the periods with a limit: the last 60 minutes, today and this month in ``zone``."""
    if budget is None:
        return ()
    day = _find_midnight(now, zone)
    month = _to_milliseconds(day.replace(day=1))
    every = (
        Window("Hour", now - HOUR, budget.tokens_per_hour, budget.usd_per_hour, name),
        Window("Day", _to_milliseconds(day), budget.tokens_per_day, budget.usd_per_day, name),
        Window("Month", month, budget.tokens_per_month, budget.usd_per_month, name),
    )
    return tuple(item for item in every if (item.tokens, item.usd) != (None, None))


WindowSpending: TypeAlias = tuple[Window, Amount]  # a window, and what was spent in it


def find_exceeded_limit(limits: Window, spent: Amount, call: Amount) -> str | None:
    """Return the reason why one more call would exceed a window's limits, or None.

    ``spent`` is the window's usage so far, ``call`` the most that the call may use.
    """
    if limits.tokens is not None and spent.tokens + call.tokens > limits.tokens:
        left = max(0, limits.tokens - spent.tokens)
        return (
            f"the next call may take {call.tokens:,} tokens, and {left:,} of {limits.tokens:,}"
            f" are left of the {limits.budget} tokensPer{limits.name}"
        )
    if limits.usd is not None and spent.usd + call.usd > limits.usd:
        rest = max(0.0, limits.usd - spent.usd)
        return (
            f"the next call may cost ${call.usd:.4f}, and ${rest:.4f} of ${limits.usd:.4f}"
            f" are left of the {limits.budget} usdPer{limits.name}"
        )
    return None


class Amounts(NamedTuple):
    """What a call has used besides tokens."""

    minutes: float = 0.0
    million_characters: float = 0.0
    pictures: float = 0.0

    @classmethod
    def from_result(cls, result: MeteredResult) -> Self:
        return cls(result.seconds / 60, result.characters / MILLION, result.pictures)

    def list_rates(self, price: Price) -> tuple[float | None, ...]:
        """Return the price of one of each."""
        return price.per_minute, price.per_million_characters, price.per_picture


NO_AMOUNTS = Amounts()


def compute_cost(price: Price | None, used: Usage, amounts: Amounts = NO_AMOUNTS) -> float | None:
    """Return the cost of a call in US dollars; None if a price is missing."""
    if price is None:
        return None
    given, out = price.input or 0.0, price.output or 0.0
    cached = given if price.cached is None else price.cached
    written = given if price.cache_written is None else price.cache_written
    fresh = max(0, used.prompt - used.cached - used.cache_written)
    spent = fresh * given + used.cached * cached + used.cache_written * written
    spent = (spent + used.completion * out) / MILLION
    for amount, rate in zip(amounts, amounts.list_rates(price), strict=True):
        if rate is not None:
            spent += amount * rate
        elif amount and not (used.total and price.input is not None):
            return None
    return spent


def format_cost(usd: float, *, unknown: bool) -> str:
    """Format a sum of dollars; ``unknown`` counts calls without a known price."""
    if not unknown:
        return f"${usd:.2f}"
    return f"${usd:.2f} + unknown" if usd else "cost unknown"


def describe_missing_prices(models: Sequence[str]) -> str:
    """Explain "unknown" in a sum, and how to set the missing prices."""
    return (
        f'unknown: calls of {", ".join(models)}, which had no price. Set it in "prices" of '
        f'agents.json, such as {{"{models[0]}": {{"input": 1, "output": 2}}}}, in US dollars per '
        "million tokens; it counts from then on."
    )


def _to_milliseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def find_midnight_before(days: int, now: int, zone: ZoneInfo) -> int:
    """Return midnight in ``zone``, ``days`` before today, in milliseconds since the epoch."""
    return _to_milliseconds(_find_midnight(now, zone) - timedelta(days=days))


def _find_midnight(now: int, zone: ZoneInfo) -> datetime:
    local = datetime.fromtimestamp(now / 1000, UTC).astimezone(zone)
    return local.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
