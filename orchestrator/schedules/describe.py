"""Describe schedules in words."""

import re
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from orchestrator.schedules.times import Cron, Interval, Trigger

DAYS = ("Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def describe_schedule(schedule: str, timezone: str | None) -> str:
    """Describe a cron expression or ``every 90m``, with the zone's city, for a list."""
    city = "" if timezone is None else f" ({timezone.rsplit('/', 1)[-1].replace('_', ' ')})"
    return (_describe_expression(schedule.strip()) or schedule) + city


def describe_trigger(trigger: Trigger, zone: ZoneInfo) -> str:
    if isinstance(trigger, Cron):
        return describe_schedule(trigger.expression, zone.key)
    if isinstance(trigger, Interval):
        return describe_schedule(f"every {trigger.minutes}m", None)
    return f"once, {format_local_time(trigger.at, zone)}"


def format_local_time(at: int, zone: ZoneInfo) -> str:
    """Format an instant (milliseconds since the epoch) in a time zone."""
    there = datetime.fromtimestamp(at / 1000, UTC).astimezone(zone)
    return f"{there:%a %Y-%m-%d %H:%M} ({zone.key})"


def _describe_expression(schedule: str) -> str | None:
    if found := re.fullmatch(r"every (\d{1,6})m", schedule):
        minutes = int(found[1])
        whole = minutes // 60 if minutes and minutes % 60 == 0 else None
        if whole:
            return _format_repetition(whole, "hour", "hours")
        return _format_repetition(minutes, "minute", "min")
    if found := re.fullmatch(r"\*(?:/(\d{1,2}))? \* \* \* \*", schedule):
        return _format_repetition(int(found[1] or 1), "minute", "min")
    if found := re.fullmatch(r"0 \*(?:/(\d{1,2}))? \* \* \*", schedule):
        return _format_repetition(int(found[1] or 1), "hour", "hours")
    if found := re.fullmatch(r"(\d{1,2}) (\d{1,2}) \* \* (\*|[0-7](?:[,-][0-7])*)", schedule):
        minute, hour = int(found[1]), int(found[2])
        half = "AM" if hour < 12 else "PM"  # noqa: PLR2004 - noon
        days = (
            "daily" if found[3] == "*" else re.sub(r"\d", _format_day, found[3]).replace(",", "/")
        )
        return f"{(hour + 11) % 12 + 1}:{minute:02} {half} {days}"
    return None


def _format_repetition(number: int, one: str, many: str) -> str:
    return f"every {one}" if number == 1 else f"every {number} {many}"


def _format_day(found: re.Match[str]) -> str:
    return DAYS[int(found[0])]
