"""Text for people: safe to show, and with the right plural."""


def printable(text: str) -> str:
    """The text without control characters: what models and strangers write is only shown.

    Line ends and tabs stay.
    """
    return "".join(
        char if char.isprintable() or char in "\n\t" else "\N{REPLACEMENT CHARACTER}"
        for char in text
    )


def count(number: int, noun: str) -> str:
    """``no errors``, ``1 error``, ``2 errors``."""
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"
