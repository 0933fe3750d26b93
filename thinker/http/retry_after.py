"""Parse the wait that a server requests."""

from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from math import isfinite


def parse_retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds to wait, from ``retry-after-ms`` or ``retry-after`` (number or date).

    Return None if both headers are missing or unreadable. ``now`` is seconds since the epoch.
    """
    milliseconds = _parse_number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after", "")
    seconds = _parse_number(value)
    if seconds is not None:
        return seconds
    try:
        when = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return max(0.0, when.timestamp() - now)


def _parse_number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return max(0.0, number) if isfinite(number) else None
