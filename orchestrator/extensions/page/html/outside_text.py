"""Make invisible characters in foreign text visible."""

import re
import unicodedata

# Control, format (bidirectional and invisible), private and unassigned characters; tab and newline
# stay.
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_HIDDEN = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"})
_KEPT = frozenset("\t\n")
_JOINED = "\u200d"  # joins parts of an emoji
_LINK = re.compile(r"!?\[([^\]\n]*)\]\([^)\n]*\)")
# Rules of tables, fences of code, quotes, headings and bullets, at the beginning of a line.
_FRAMES = re.compile(r"(?m)^\s*(?:\|?[-:| ]{3,}$|```\w*|>+ ?|#{1,6} |[-*+] (?=\S))|\s*\|\s*")
_SIGNS = re.compile(r"\*\*|__|~~|`")


def show_hidden_characters(text: str) -> str:
    """Return text with the number of each invisible character in its place."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_show_character(char) for char in text)


def is_plain_text(text: str) -> bool:
    """Return whether a text has no hidden characters, so that it can be a choice of a form."""
    return show_hidden_characters(text) == text


def list_hidden_characters(text: str) -> list[str]:
    """Return the invisible characters of a text as `show_hidden_characters` does, each once."""
    return list(dict.fromkeys(shown for char in text if (shown := _show_character(char)) != char))


def strip_terminal_codes(text: str) -> str:
    """Remove terminal codes, then show hidden characters as `show_hidden_characters` does."""
    return show_hidden_characters(_ANSI.sub("", text).replace("\r\n", "\n"))


def shorten_text(text: str, limit: int) -> str:
    """Return the beginning of ``text`` on one line, with a mark if it was cut."""
    line = " ".join(strip_terminal_codes(text[: limit * 4 + 200]).split())
    return line if len(line) <= limit and len(text) <= limit * 4 + 200 else f"{line[: limit - 1]}…"


def find_plain_text(markdown: str) -> str:
    """Return what a message says, without the signs of Markdown."""
    text = _LINK.sub(r"\1", _FRAMES.sub(" ", markdown))
    return _SIGNS.sub("", text)


def _show_character(char: str) -> str:
    if char in _KEPT or char == _JOINED or unicodedata.category(char) not in _HIDDEN:
        return char
    return f"⟦U+{ord(char):04X}⟧"
