"""Parse lists of words that people and models write as one line of text."""

import orjson
from pydantic import JsonValue

from thinker.protocol.messages import JsonObject

# The schema of an argument that `parse_words` reads: weak models write text for a list.
WORDS: JsonObject = {"type": ["array", "string"], "items": {"type": "string"}}
BLANKS = frozenset({"", "none", "null", "n/a"})  # what models write for no value


def parse_words(value: object) -> list[str]:
    """Return the strings of a list, a JSON list as text, or the parts of ``a, b``.

    Empty items and values other than strings are dropped. Broken JSON counts as one word.
    """
    if isinstance(value, str):
        value = [] if is_blank(value) else _parse_list_text(value)
    items = value if isinstance(value, list) else []
    return [word for item in items if isinstance(item, str) and (word := item.strip())]


def is_blank(value: object) -> bool:
    """Return whether a value is one that models write for no value."""
    return value is None or (isinstance(value, str) and value.strip().lower() in BLANKS)


def _parse_list_text(text: str) -> JsonValue:
    if not text.lstrip().startswith("["):
        return [*text.split(",")]
    try:
        parsed: JsonValue = orjson.loads(text)
    except orjson.JSONDecodeError:
        return [text]
    return parsed
