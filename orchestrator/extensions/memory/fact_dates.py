"""Times of facts as people and models write them, in a time zone."""

import re
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from orchestrator.journal.memory.facts import Fact

TAKEN_BACK = "undone"  # ended a fact that replaced another, which is open again
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
    """Return since when a fact is true or known, and for a closed one until when and why.

    A fact that begins after it was stored is true "from" then. Of one that ended before it was
    known, only the end is told.
    """
    known = fact.created_at
    begins = known if fact.valid_from is None else fact.valid_from
    word = "stored" if fact.valid_from is None else "from" if begins > known else "since"
    words = []
    if fact.valid_to is None or begins <= fact.valid_to:
        words.append(f"{word} {format_day(begins, timezone)}")
    if fact.valid_to is not None:
        words.append(f"until {format_day(fact.valid_to, timezone)}")
        ended = fact.ended_by or ""
        if ended == TAKEN_BACK:
            words.append("taken back")
        else:
            words.append(f"{'replaced' if ended.startswith('fact ') else 'ended'} by {ended}")
    return ", ".join(words)
