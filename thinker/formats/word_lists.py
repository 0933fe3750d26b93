"""Lists of words that people and models write as one line of text."""

import orjson
from pydantic import JsonValue

from thinker.protocol.messages import JsonObject

# The schema of an argument that `words` reads: weak models write text for a list.
WORDS: JsonObject = {"type": ["array", "string"], "items": {"type": "string"}}
BLANKS = frozenset({"", "none", "null", "n/a"})  # what models write for no value


def words(value: object) -> list[str]:
    """Return the strings of a list, a JSON list as text, or the parts of ``a, b``.

    Empty ones are left out, as is what is no text. Broken JSON is one word: nothing is guessed.
    """
    if isinstance(value, str):
        value = [] if blank(value) else _from_text(value)
    items = value if isinstance(value, list) else []
    return [word for item in items if isinstance(item, str) and (word := item.strip())]


def blank(value: object) -> bool:
    """Return whether a value is what models write for none."""
    return value is None or (isinstance(value, str) and value.strip().lower() in BLANKS)


def _from_text(text: str) -> JsonValue:
    if not text.lstrip().startswith("["):
        return [*text.split(",")]
    try:
        parsed: JsonValue = orjson.loads(text)
    except orjson.JSONDecodeError:
        return [text]
    return parsed
