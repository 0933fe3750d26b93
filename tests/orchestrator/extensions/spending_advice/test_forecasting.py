"""Forecasts of simulated homes: how wrong they are, and what they say of it."""

import math
import random
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from orchestrator.extensions.spending_advice.forecasting import DAY, HOUR, Span, UseByHour

BERLIN = ZoneInfo("Europe/Berlin")
FIRST = datetime(2026, 2, 1, tzinfo=BERLIN)  # its clocks change during the days below
MONTH = 30


def draw_calls(chance: random.Random, mean: float) -> float:
    """Dollars of as many calls as come by chance; each costs a cent or so."""
    number, left = 0, chance.random()
    while left > (step := math.exp(-mean)) and number < 1_000:
        left *= chance.random()
        number += 1 if step else 0
    return sum(0.01 * chance.lognormvariate(-0.3, 0.8) for _ in range(number))


def work_hours(local: datetime, day: float, chance: random.Random) -> float:
    """An office: busy on weekdays, quieter in the evening and at the weekend."""
    del day
    busy = 8 <= local.hour < 18
    mean = (6.0 if local.weekday() < 5 else 1.0) if busy else 2.0 * (18 <= local.hour < 23)
    return draw_calls(chance, mean)


def growth(local: datetime, day: float, chance: random.Random) -> float:
    """The same, with a tenth more each week."""
    return work_hours(local, day, chance) * 1.1 ** (day / 7)


def tasks(local: datetime, day: float, chance: random.Random) -> float:
    """Tasks of each hour, each morning and each Monday."""
    del day
    usd = 0.01 * chance.lognormvariate(0, 0.2)
    usd += 0.3 * chance.lognormvariate(0, 0.2) * (local.hour == 7)
    return usd + chance.lognormvariate(0, 0.2) * (local.hour == 6 and local.weekday() == 0)


def everything(local: datetime, day: float, chance: random.Random) -> float:
    """People and tasks."""
    return work_hours(local, day, chance) + tasks(local, day, chance)


def live(
    pattern: Callable[[datetime, float, random.Random], float], seed: int, days: int
) -> Mapping[int, float]:
    """The dollars of each hour of a home."""
    chance, hours = random.Random(seed), {}  # noqa: S311 - repeatable
    begin = int(FIRST.timestamp()) // 3600
    for number in range(days * DAY):
        local = datetime.fromtimestamp((begin + number) * 3600, UTC).astimezone(BERLIN)
        hours[begin + number] = pattern(local, number / DAY, chance)
    return hours


def at(day: int, hour: int = 0) -> int:
    """An instant of the simulation, in milliseconds."""
    return round((FIRST + timedelta(days=day, hours=hour)).timestamp() * 1000)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("before", [14, 45])
@pytest.mark.parametrize("pattern", [work_hours, growth, tasks, everything])
def test_forecasts_of_a_month_miss_by_a_tenth_at_most(
    pattern: Callable[[datetime, float, random.Random], float], before: int, seed: int
) -> None:
    """On average over its days, at noon of each; two weeks of use before it are enough."""
    hours = live(pattern, seed, before + MONTH + 1)
    month = Span(at(before), at(before + MONTH))
    actual = UseByHour(hours, BERLIN).sum_between(month.since // HOUR, month.until // HOUR)
    errors = []
    for day in range(before, before + MONTH):
        now = at(day, 12)
        known = {hour: usd for hour, usd in hours.items() if hour < now // HOUR}
        found = UseByHour(known, BERLIN).forecast_total(month, now)
        assert found is not None
        errors.append(abs(found.total - actual) / actual)
    assert sum(errors) / len(errors) <= 0.1


def test_error_that_a_forecast_names_is_the_one_that_it_has() -> None:
    """Days of people vary by more than days of tasks, and it says so."""
    for pattern in (work_hours, tasks):
        hours = live(pattern, 5, 90)
        missed = actual = named = 0.0
        for day in range(45, 85):
            now = at(day, 12)
            known = {hour: usd for hour, usd in hours.items() if hour < now // HOUR}
            today = Span(at(day), at(day + 1))
            found = UseByHour(known, BERLIN).forecast_total(today, now)
            assert found is not None
            assert found.error is not None
            came = UseByHour(hours, BERLIN).sum_between(today.since // HOUR, today.until // HOUR)
            missed, actual = missed + abs(found.total - came), actual + came
            named += found.error / 40
        assert named == pytest.approx(missed / actual, rel=0.5)


def test_less_than_a_week_is_too_little_and_a_week_has_no_error_yet() -> None:
    """A number without a ground is worse than none."""
    hours = live(tasks, 1, 30)
    for day, known in ((6, False), (7, True)):
        now = at(day, 1)
        use = UseByHour({hour: usd for hour, usd in hours.items() if hour < now // HOUR}, BERLIN)
        found = use.forecast_total(Span(at(day), at(day + 1)), now)
        assert (found is not None) is known
        assert found is None or found.error is None
    assert UseByHour({}, BERLIN).forecast_total(Span(at(0), at(1)), at(0, 3)) is None


def test_what_was_spent_already_is_part_of_the_sum() -> None:
    """A home that stopped long ago is foreseen to stay as it is."""
    begin = at(0) // HOUR
    use = UseByHour(dict.fromkeys(range(begin, begin + 10), 1.0), BERLIN)
    found = use.forecast_total(Span(at(0), at(MONTH)), at(20))
    assert found is not None
    assert found.spent == 10
    assert found.total == pytest.approx(10, abs=3)
