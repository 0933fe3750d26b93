"""Parse JSON that a model wrote among other text: in a code fence, after or before a sentence."""

import json
import re
from contextlib import suppress
from itertools import islice
from typing import NoReturn

import json_repair
import orjson
from pydantic import JsonValue, TypeAdapter

from thinker.protocol.messages import JsonObject

REPAIR_LIMIT = 64 * 1024  # characters; json_repair is slow on long text
MAX_OPEN = 256  # unclosed brackets; the cost of repair grows with their square
MAX_ATTEMPTS = 64  # positions tried in one text, which bounds the cost of many brackets

_OBJECT: TypeAdapter[JsonObject] = TypeAdapter(JsonObject)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


# Not strict, since models write line breaks into strings.
_DECODER = json.JSONDecoder(strict=False, parse_constant=_refuse)


def value_at(text: str, start: int) -> JsonValue:
    """Return the JSON value that begins at a position, whatever follows it.

    Raises:
        ValueError: no value begins there.
    """
    try:
        value: JsonValue = _DECODER.raw_decode(text, start)[0]
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    return value


def whole_value(text: str) -> JsonValue:
    """Return the JSON value that the whole text is.

    Raises:
        ValueError: it is not one JSON value.
    """
    try:
        value: JsonValue = _DECODER.decode(text)
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    return value


def parse(text: str) -> JsonValue:
    """Return the whole text as JSON, or else the first object or array in it.

    Raises:
        ValueError: the text contains no JSON.
    """
    with suppress(ValueError):
        return whole_value(text)
    for found in islice(re.finditer(r"[{\[]", text), MAX_ATTEMPTS):
        with suppress(ValueError):
            return value_at(text, found.start())
    raise ValueError("there is no JSON in the answer")


def repaired(text: str) -> JsonObject | None:
    """Return the JSON object that a malformed text stands for; None if it is not clear."""
    opened = text.count("{") + text.count("[") - text.count("}") - text.count("]")
    if "{" not in text or len(text) > REPAIR_LIMIT or opened > MAX_OPEN:
        return None
    try:
        # Re-encode: a value that the wire cannot carry is no repair.
        value = orjson.loads(orjson.dumps(json_repair.loads(text)))
        return _OBJECT.validate_python(value) or None
    except (ValueError, TypeError, RecursionError, AssertionError):  # json_repair asserts
        return None
