"""Foresee what a day or a month will cost, and how wrong that may be. Pure.

A week of use is a level and a shape: how much, and how that is spread over its hours. The level is
that of the last weeks and their growth, which counts the less the more it may be chance; newer
weeks count more in both. How wrong a forecast may be is what such forecasts would have missed in
the home's own past.

Where: is spending forecast?
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

HOUR = 3_600_000  # milliseconds
DAY = 24  # hours
WEEK = 7 * DAY
MAX_WEEKS = 9  # that a forecast is made from
MIN_WEEKS = 3  # below which growth cannot be told from chance
MAX_ORIGINS = 14  # past forecasts that its error is known from
WEIGHT = 0.75  # of a week, compared with the week after it
DAMPING = 0.9  # of a week's growth, compared with the growth of the week before it
MAX_GROWTH = math.log(2)  # in a week


class Forecast(NamedTuple):
    """A foreseen sum: ``spent`` so far, and in all.

    ``error`` is the mean error of such forecasts so far, as a share of the sum; None where the past
    is too short to tell.
    """

    spent: float
    total: float
    error: float | None


class Span(NamedTuple):
    """A period by its first instant and the one after it, in milliseconds since the epoch."""

    since: int
    until: int


@dataclass(frozen=True)
class UseByHour:
    """What was used in each hour since the epoch, by an amount of one kind."""

    hours: Mapping[int, float]
    zone: ZoneInfo

    @property
    def began(self) -> int | None:
        """The first hour with any use; None without use."""
        return min((hour for hour, used in self.hours.items() if used), default=None)

    def sum_between(self, first: int, after: int) -> float:
        """Sum the hours from ``first`` to before ``after``."""
        return sum(self.hours.get(hour, 0.0) for hour in range(first, after))

    def forecast_total(self, span: Span, now: int) -> Forecast | None:
        """Foresee the sum of a period that ``now`` is in; None with less than a week of use."""
        hour = now // HOUR
        rest = _foresee_rest(self, now / HOUR, span.until / HOUR)
        if rest is None:
            return None
        spent = self.sum_between(span.since // HOUR, hour + 1)
        return Forecast(spent, spent + rest, self._measure_error(span, now))

    def _measure_error(self, span: Span, now: int) -> float | None:
        """Return the mean error of forecasts at earlier moments of periods that long."""
        step = DAY if span.until - span.since <= 2 * DAY * HOUR else WEEK
        elapsed, ahead = (now - span.since) // HOUR, (span.until - now) // HOUR
        missed = actual = 0.0
        for number in range(MAX_ORIGINS):
            origin = now // HOUR - (math.ceil(ahead / step) + number) * step
            rest = _foresee_rest(self, origin, origin + ahead)
            if rest is None:
                break
            came = self.sum_between(origin, origin + ahead)
            missed += abs(rest - came)
            actual += came + self.sum_between(origin - elapsed, origin)
        return missed / actual if actual else None


def _foresee_rest(use: UseByHour, now: float, until: float) -> float | None:
    """Foresee what is used between two moments, in hours, from the use before the first."""
    hour, began = int(now), use.began
    if began is None or hour - began < WEEK:
        return None
    weeks = [
        use.sum_between(hour - (number + 1) * WEEK, hour - number * WEEK)
        for number in range(min(MAX_WEEKS, (hour - began) // WEEK))
    ]
    level, growth = _fit_growth(weeks)
    shape = _find_shape(use, hour, len(weeks))
    total, at = 0.0, now
    while at < until:
        after = min(math.floor(at) + 1.0, until)
        ahead = (at - now) / WEEK + 0.5  # a week's level is that of its middle
        trend = growth * (1 - DAMPING**ahead) / (1 - DAMPING)
        total += (after - at) * level * math.exp(trend) * shape[_name_hour(int(at), use.zone)]
        at = after
    return total


def _find_shape(use: UseByHour, hour: int, weeks: int) -> Sequence[float]:
    """Return the share of each hour of the week."""
    shape, total = [0.0] * WEEK, 0.0
    for number in range(weeks):
        weight = WEIGHT**number
        for at in range(hour - (number + 1) * WEEK, hour - number * WEEK):
            used = weight * use.hours.get(at, 0.0)
            shape[_name_hour(at, use.zone)] += used
            total += used
    return [one / total for one in shape] if total else shape


def _name_hour(hour: int, zone: ZoneInfo) -> int:
    """Return the number of an hour in its week, in local time."""
    local = datetime.fromtimestamp(hour * 3600, UTC).astimezone(zone)
    return local.weekday() * DAY + local.hour


def _fit_growth(weeks: Sequence[float]) -> tuple[float, float]:
    """Return the level of the newest week, and the logarithm of its growth in a week."""
    weights = [WEIGHT**number for number in range(len(weeks))]
    mean = sum(w * used for w, used in zip(weights, weeks, strict=True)) / sum(weights)
    if len(weeks) < MIN_WEEKS or min(weeks) <= 0:
        return mean, 0.0
    logs = [math.log(used) for used in weeks]
    ages = [-float(number) for number in range(len(weeks))]
    total = sum(weights)
    age = sum(w * x for w, x in zip(weights, ages, strict=True)) / total
    log = sum(w * y for w, y in zip(weights, logs, strict=True)) / total
    spread = sum(w * (x - age) ** 2 for w, x in zip(weights, ages, strict=True))
    slope = (
        sum(w * (x - age) * (y - log) for w, x, y in zip(weights, ages, logs, strict=True)) / spread
    )
    left = sum(
        w * (y - log - slope * (x - age)) ** 2 for w, x, y in zip(weights, ages, logs, strict=True)
    )
    variance = left / (total * (1 - 2 / len(weeks)) * spread)
    slope *= slope**2 / (slope**2 + variance) if slope else 0.0
    slope = max(-MAX_GROWTH, min(MAX_GROWTH, slope))
    return math.exp(log - slope * age), slope
