"""Make hidden characters visible: controls, marks that reorder text, signs without a shape.

Right-to-left scripts need none of the marks that are removed here: their letters have a direction
of their own. Joiners (U+200C, U+200D) and the selectors of emoji stay, since they shape letters.
"""

import re

# Embeddings, overrides and isolates: with them text looks different than it is.
_REORDERING = "\u202a-\u202e\u2066-\u2069"
_DIRECTION_MARKS = "\u061c\u200e\u200f"
# Fillers, tags and other signs without a shape, in which text can be hidden from people.
_SHAPELESS = (
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0"
    "\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff"
_UNSEEN = f"{_REORDERING}{_DIRECTION_MARKS}{_SHAPELESS}\u00ad"
_HIDDEN = re.compile(f"[{_UNSEEN}]")
_CONTROL = re.compile(f"[{_CONTROLS}]")
_UNPRINTABLE = re.compile(f"[{_CONTROLS}{_UNSEEN}]")
_FLAG = "\U0001f3f4[\U000e0030-\U000e007a]{3,6}\U000e007f"  # of England, for example: ends in tags
_MISLEADING = re.compile(f"({_FLAG})|[{_REORDERING}{_SHAPELESS}]")
_BLANKS = re.compile(r"(?<=  ) +| +$|[^\S \n]")  # spaces that could push text out of sight
_SPACE = "\N{OPEN BOX}"


def make_printable(text: str) -> str:
    """Show controls and hidden signs as U+FFFD, so that text cannot control or deceive a terminal.

    Line breaks and tabs stay.
    """
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def remove_misleading(text: str) -> str:
    """Remove signs that reorder or hide parts of a text for people; keep flags."""
    return _MISLEADING.sub(r"\1", text)


def remove_hidden(text: str) -> str:
    """Remove every sign that has no shape, including marks of direction."""
    return _HIDDEN.sub("", text)


def clean_name(name: str) -> str:
    """Return a person's name on one line, without signs that hide or reorder parts of it."""
    return " ".join(_CONTROL.sub(" ", remove_hidden(name)).split())


def escape_hidden(json: str) -> str:
    """Write hidden signs in JSON text as JSON escapes, which changes no value."""
    return _UNPRINTABLE.sub(_escape_match, json)


def format_one_line(json: str) -> str:
    """Return `escape_hidden` JSON text in which spaces cannot look like the end of a line.

    Of several spaces, each after the second is shown as an open box.
    """
    exact = escape_hidden(json).replace(_SPACE, _format_escape(_SPACE))
    return _BLANKS.sub(_show_blank, exact)


def _show_blank(match: re.Match[str]) -> str:
    blank = match[0]
    return _SPACE * len(blank) if blank[0] == " " else _escape_match(match)


def _escape_match(match: re.Match[str]) -> str:
    return _format_escape(match[0])


def _format_escape(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
