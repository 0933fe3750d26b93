"""JSON that a model wrote among other things: in a code fence, after a sentence, before one."""

import json
import re
from typing import NoReturn

import json_repair
import orjson
from pydantic import JsonValue, TypeAdapter

from thinker.protocol.messages import JsonObject

REPAIR_LIMIT = 256 * 1024  # characters; the mender is slow on long text
MAX_OPEN = 256  # brackets more opened than closed; with those its cost grows as their square
MAX_ATTEMPTS = 64  # places looked at in one text, so that brackets alone cost nothing


_OBJECT: TypeAdapter[JsonObject] = TypeAdapter(JsonObject)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


# Not strict: models write line breaks into strings.
_DECODER = json.JSONDecoder(strict=False, parse_constant=_refuse)


def value_at(text: str, start: int) -> JsonValue:
    """The value that begins at a position, whatever follows it.

    Raises:
        ValueError: none does.
    """
    try:
        value: JsonValue = _DECODER.raw_decode(text, start)[0]
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    return value


def parse(text: str) -> JsonValue:
    """The whole text as JSON, or else the first object or array in it.

    Raises:
        ValueError: there is none.
    """
    try:
        whole: JsonValue = _DECODER.decode(text)
    except (ValueError, RecursionError):
        return _first(text)
    return whole


def repaired(text: str) -> JsonObject | None:
    """The JSON object that a text was meant to be; None when that cannot be told."""
    opened = text.count("{") + text.count("[") - text.count("}") - text.count("]")
    if "{" not in text or len(text) > REPAIR_LIMIT or opened > MAX_OPEN:
        return None
    try:
        # Through JSON once more: what the wire cannot carry is no mend.
        value = orjson.loads(orjson.dumps(json_repair.loads(text)))
        return _OBJECT.validate_python(value) or None
    except (ValueError, TypeError, RecursionError, AssertionError):  # the mender asserts
        return None


def _first(text: str) -> JsonValue:
    for attempt, found in enumerate(re.finditer(r"[{\[]", text)):
        if attempt == MAX_ATTEMPTS:
            break
        try:
            return value_at(text, found.start())
        except ValueError:
            continue
    raise ValueError("there is no JSON in the answer")
