"""Describe schedules in words."""

import re
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from orchestrator.schedules.times import Cron, Interval, Trigger

DAYS = ("Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def human(schedule: str, timezone: str | None) -> str:
    """Describe a cron expression or ``every 90m``, with the zone's city, for a list."""
    city = "" if timezone is None else f" ({timezone.rsplit('/', 1)[-1].replace('_', ' ')})"
    return (_words(schedule.strip()) or schedule) + city


def describe(trigger: Trigger, zone: ZoneInfo) -> str:
    if isinstance(trigger, Cron):
        return human(trigger.expression, zone.key)
    if isinstance(trigger, Interval):
        return human(f"every {trigger.minutes}m", None)
    return f"once, {local_time(trigger.at, zone)}"


def local_time(at: int, zone: ZoneInfo) -> str:
    """Format an instant (milliseconds since the epoch) in a time zone."""
    there = datetime.fromtimestamp(at / 1000, UTC).astimezone(zone)
    return f"{there:%a %Y-%m-%d %H:%M} ({zone.key})"


def _words(schedule: str) -> str | None:
    if found := re.fullmatch(r"every (\d{1,6})m", schedule):
        minutes = int(found[1])
        whole = minutes // 60 if minutes and minutes % 60 == 0 else None
        return _every(whole, "hour", "hours") if whole else _every(minutes, "minute", "min")
    if found := re.fullmatch(r"\*(?:/(\d{1,2}))? \* \* \* \*", schedule):
        return _every(int(found[1] or 1), "minute", "min")
    if found := re.fullmatch(r"0 \*(?:/(\d{1,2}))? \* \* \*", schedule):
        return _every(int(found[1] or 1), "hour", "hours")
    if found := re.fullmatch(r"(\d{1,2}) (\d{1,2}) \* \* (\*|[0-7](?:[,-][0-7])*)", schedule):
        minute, hour = int(found[1]), int(found[2])
        half = "AM" if hour < 12 else "PM"  # noqa: PLR2004 - noon
        days = "daily" if found[3] == "*" else re.sub(r"\d", _day, found[3]).replace(",", "/")
        return f"{(hour + 11) % 12 + 1}:{minute:02} {half} {days}"
    return None


def _every(number: int, one: str, many: str) -> str:
    return f"every {one}" if number == 1 else f"every {number} {many}"


def _day(found: re.Match[str]) -> str:
    return DAYS[int(found[0])]
