"""Times of facts as people and models write them, in a time zone."""

import re
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from orchestrator.journal.memory.facts import Fact

DAY = re.compile(r"\s*(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?(?:[T ].*)?\s*")


def parse_day(text: str, timezone: str) -> int | None:
    """Return when a day such as ``2026-05-03``, a month or a year begins, in milliseconds.

    None if the text is no such date.
    """
    found = DAY.fullmatch(text)
    if found is None:
        return None
    year, month, day = (int(part or 1) for part in found.groups())
    try:
        begins = datetime(year, month, day, tzinfo=ZoneInfo(timezone))
        return int(begins.timestamp() * 1000)
    except (ValueError, OverflowError):
        return None


def format_day(at: int, timezone: str) -> str:
    """Return a day such as ``3 May 2026``."""
    day = datetime.fromtimestamp(at / 1000, UTC).astimezone(ZoneInfo(timezone))
    return f"{day.day} {day:%B %Y}"


def describe_times(fact: Fact, timezone: str) -> str:
    """Return since when a fact is true or known, and for a closed one until when and why."""
    begins = fact.valid_from
    words = [
        f"stored {format_day(fact.created_at, timezone)}"
        if begins is None
        else f"since {format_day(begins, timezone)}"
    ]
    if fact.valid_to is not None:
        words.append(f"until {format_day(fact.valid_to, timezone)}")
        ended = fact.ended_by or ""
        words.append(f"replaced by {ended}" if ended.startswith("fact ") else f"ended by {ended}")
    return ", ".join(words)
