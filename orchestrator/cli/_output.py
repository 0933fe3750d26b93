"""Format text, times and numbers for the terminal."""

from datetime import UTC, datetime

from thinker.protocol.visible_text import escaped, printable

__all__ = ["count", "escaped", "minute", "moment", "printable"]


def minute(seconds: float) -> str:
    """Format a time (seconds since the epoch) in UTC, to the minute."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M}"


def moment(milliseconds: int) -> str:
    """Format a time (milliseconds since the epoch) in UTC, to the millisecond."""
    at = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return f"{at:%Y-%m-%d %H:%M:%S}.{milliseconds % 1000:03}"


def count(number: int, noun: str) -> str:
    """Return a number with its noun: ``no errors``, ``1 error``, ``2 errors``."""
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"
