"""Compute when a task is due. Times are milliseconds since the epoch; the clock is an argument.

Cron expressions treat daylight saving as Debian's cron does: a job at a fixed local time that the
clock skips runs once at the first valid minute after it, and a job whose local time comes twice
runs the first time. Jobs with ``*`` in the minute or the hour follow elapsed time.

Where: is the next instant of a cron expression computed?
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeAlias
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from orchestrator.errors import OrchestratorError
from thinker.protocol.messages import JsonObject

MINUTE, HOUR = 60_000, 3_600_000
DAY_MINUTES = 1440  # default interval, a day
MAX_MINUTES = 525_600  # longest interval, a year
MAX_EXPRESSION = 200  # characters of a cron expression
MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
YEARS = range(1970, 2100)
STEPS = (60, 24, 31, 12, 7)  # largest step of each field; */90 would silently mean once an hour
BAD_DAY = "Bad day-of-month"  # also for a day that none of the months has
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)  # start of the search whether an expression ever fits
WITH_SECONDS, WITH_YEAR = 6, 7  # number of fields of an expression


class ScheduleError(OrchestratorError):
    """A schedule is invalid; the message suggests a valid one."""


@dataclass(frozen=True)
class Cron:
    """A macro, or a cron expression of 5 fields, 6 (seconds first) or 7 (and the year last)."""

    expression: str


@dataclass(frozen=True)
class Interval:
    """A repetition, counted from the last due instant."""

    minutes: int


@dataclass(frozen=True)
class Once:
    """One instant."""

    at: int


Trigger: TypeAlias = Cron | Interval | Once


def parse_trigger(config: JsonObject, zone: ZoneInfo) -> Trigger:
    """Parse a normalized ``trigger_config``; ``zone`` is for an ``at`` without one.

    Raises:
        ScheduleError: the trigger is invalid or never due.
    """
    schedule, at = config.get("schedule"), config.get("at")
    if schedule is not None:
        check_cron(str(schedule))
        return Cron(str(schedule))
    if at is not None:
        return Once(_parse_instant(str(at), zone))
    minutes = config.get("interval_minutes", DAY_MINUTES)
    if isinstance(minutes, bool) or not isinstance(minutes, int | float):
        raise ScheduleError(f"interval_minutes {minutes!r} is not a number; write whole minutes")
    if not 1 <= minutes <= MAX_MINUTES or minutes != int(minutes):
        raise ScheduleError(f"interval_minutes must be a whole number from 1 to {MAX_MINUTES}")
    return Interval(int(minutes))


def check_cron(expression: str) -> None:
    """Check a cron expression.

    Raises:
        ScheduleError: the expression is invalid, or no instant within 50 years fits it.
    """
    try:
        found = next(_iterate_cron(expression, LONG_AGO), None)
    except (CronSimError, ValueError) as error:
        if str(error) == BAD_DAY and _fits_some_month(expression):
            raise _make_never_error(expression) from error
        raise ScheduleError(
            f'Invalid cron expression "{_shorten_expression(expression)}": {error}; '
            "write minute hour day month weekday, such as 30 8 * * 1-5"
        ) from error
    if found is None:
        raise _make_never_error(expression)


def _make_never_error(expression: str) -> ScheduleError:
    return ScheduleError(
        f'Invalid cron expression "{_shorten_expression(expression)}": it never comes'
    )


def _fits_some_month(expression: str) -> bool:
    """Return whether an expression that CronSim refuses for its day is valid in other months."""
    fields = expression.split()
    month = 4 if len(fields) >= WITH_SECONDS else 3
    fields[month] = "*"
    try:
        next(_iterate_cron(" ".join(fields), LONG_AGO), None)
    except (CronSimError, ValueError):
        return False
    return True


def is_fast(trigger: Trigger) -> bool:
    """Return whether a schedule may be due more than once a minute."""
    fields = trigger.expression.split() if isinstance(trigger, Cron) else []
    return len(fields) >= WITH_SECONDS and not fields[0].isdecimal()


def find_first_due(trigger: Trigger, zone: ZoneInfo, now: int) -> int | None:
    """Return a new trigger's first due time, None if never; an interval begins at ``now``."""
    if isinstance(trigger, Cron):
        return find_next_due(trigger, zone, now)
    return trigger.at if isinstance(trigger, Once) else now


def find_next_due(trigger: Trigger, zone: ZoneInfo, after: int) -> int | None:
    """Return the first due instant later than ``after`` (the last one, or now); None if never."""
    if isinstance(trigger, Once):
        return None
    if isinstance(trigger, Interval):
        return after + trigger.minutes * MINUTE
    start = datetime.fromtimestamp(after / 1000, UTC).astimezone(zone)
    for found in _iterate_cron(trigger.expression, start):
        # In the hour that comes twice, CronSim finds the first 02:30 again, which has passed.
        at = round(found.timestamp() * 1000)
        if at > after:
            return at
    return None


def realign_due(trigger: Trigger, zone: ZoneInfo, due: int, now: int) -> int:
    """Limit ``due`` to the schedule's next instant, after the clock was set back."""
    upcoming = find_next_due(trigger, zone, now)
    return due if upcoming is None else min(due, upcoming)


def _parse_instant(text: str, zone: ZoneInfo) -> int:
    try:
        at = datetime.fromisoformat(text.strip())
        return round((at if at.tzinfo else at.replace(tzinfo=zone)).timestamp() * 1000)
    except (ValueError, OverflowError) as error:
        raise ScheduleError(
            f'"{text}" is not a date and time; write one such as 2026-02-12T09:00'
        ) from error


def _iterate_cron(expression: str, start: datetime) -> Iterator[datetime]:
    """Yield the instants of an expression after ``start``, in the time zone of ``start``.

    Raises:
        CronSimError: the expression is invalid.
        ValueError: the year field is not a year.
    """
    if len(expression) > MAX_EXPRESSION:
        raise CronSimError(f"longer than {MAX_EXPRESSION} characters")
    name = expression.strip().lower()
    fields = MACROS.get(name, name).replace("?", "*").split()
    years = _parse_years(fields.pop()) if len(fields) == WITH_YEAR else None
    delay = timedelta()
    _check_steps(fields[-len(STEPS) :])
    if len(fields) == WITH_SECONDS and fields[0].isdecimal() and int(fields[0]) in range(60):
        # CronSim handles daylight saving as Debian's cron only in expressions of 5 fields.
        delay = timedelta(seconds=int(fields.pop(0)))
    return _iterate_within_years(years, " ".join(fields), start, delay)


def _check_steps(fields: Sequence[str]) -> None:
    for field, most in zip(fields, STEPS, strict=False):
        if any(int(step) > most for step in re.findall(r"/(\d{1,9})", field)):
            raise CronSimError(f"steps of more than {most} in {field!r}; use interval_minutes")


def _iterate_within_years(
    years: Sequence[int] | None, expression: str, start: datetime, delay: timedelta
) -> Iterator[datetime]:
    instants = CronSim(expression, (start.astimezone(UTC) - delay).astimezone(start.tzinfo))
    while (found := next(instants, None)) is not None:
        if years is None or found.year in years:
            yield found.astimezone(UTC) + delay  # local arithmetic fails in an hour that repeats
            continue
        later = [year for year in years if year > found.year]
        if not later:
            return
        new_year = datetime(later[0], 1, 1, tzinfo=start.tzinfo)
        instants = CronSim(expression, new_year - timedelta(seconds=1))


def _parse_years(field: str) -> Sequence[int] | None:
    """Parse the seventh field: ``*`` (None), ``2026``, ``2026-2030``, ``2026,2028``."""
    if field == "*":
        return None
    found: set[int] = set()
    for part in field.split(","):
        low, _, high = part.partition("-")
        if not (low + high).isdecimal():
            raise CronSimError("Bad year")
        named = range(int(low), int(high or low) + 1)
        if not named or named[0] not in YEARS or named[-1] not in YEARS:
            raise CronSimError("Bad year")
        found.update(named)
    return sorted(found)


def _shorten_expression(text: str) -> str:
    return text if len(text) <= MAX_EXPRESSION else f"{text[:MAX_EXPRESSION]}…"
