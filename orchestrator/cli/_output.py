"""Text for people: safe to show, and with the right plural."""

from datetime import UTC, datetime
from unicodedata import category


def printable(text: str) -> str:
    """The text without control characters: what models and strangers write is only shown.

    Line ends and tabs stay.
    """
    return "".join(
        "\N{REPLACEMENT CHARACTER}"
        if category(char) in {"Cc", "Cs"} and char not in "\n\t"
        else char
        for char in text
    )


def minute(seconds: float) -> str:
    """A time (seconds since the epoch) for people, in UTC."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M}"


def count(number: int, noun: str) -> str:
    """``no errors``, ``1 error``, ``2 errors``."""
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"
