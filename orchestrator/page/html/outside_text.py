"""Text of others as it may be shown: what cannot be seen is made visible."""

import re
import unicodedata

# Control, format (bidirectional and invisible), private and unassigned characters; tab and newline
# stay.
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_HIDDEN = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"})
_KEPT = frozenset("\t\n")
_JOINED = "\u200d"  # of emoji; between other signs it is shown


def visible(text: str) -> str:
    """Return a text in which every character that has no sign of its own is named."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_sign(char) for char in text)


def plain(text: str) -> str:
    """Return a text without the colours and movements of a terminal; the rest as `visible`."""
    return visible(_ANSI.sub("", text).replace("\r\n", "\n"))


def short(text: str, limit: int) -> str:
    """Return the beginning of a text on one line, with a mark where it was cut."""
    line = " ".join(plain(text[: limit * 4 + 200]).split())
    return line if len(line) <= limit and len(text) <= limit * 4 + 200 else f"{line[: limit - 1]}…"


def _sign(char: str) -> str:
    if char in _KEPT or char == _JOINED or unicodedata.category(char) not in _HIDDEN:
        return char
    return f"⟦U+{ord(char):04X}⟧"
