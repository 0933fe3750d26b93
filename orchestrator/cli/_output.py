"""Format text, times and numbers for the terminal."""

from datetime import UTC, datetime
from unicodedata import category


def printable(text: str) -> str:
    """Replace control characters, so that text of models and strangers cannot drive the terminal.

    Line breaks and tabs stay.
    """
    return "".join(
        "\N{REPLACEMENT CHARACTER}"
        if category(char) in {"Cc", "Cs"} and char not in "\n\t"
        else char
        for char in text
    )


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
