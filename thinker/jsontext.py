"""JSON that a model wrote among other things: in a code fence, after a sentence, before one."""

import json
import re
from typing import NoReturn

from pydantic import JsonValue

MAX_ATTEMPTS = 64  # places looked at in one text, so that brackets alone cost nothing


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


def _first(text: str) -> JsonValue:
    for attempt, found in enumerate(re.finditer(r"[{\[]", text)):
        if attempt == MAX_ATTEMPTS:
            break
        try:
            return value_at(text, found.start())
        except ValueError:
            continue
    raise ValueError("there is no JSON in the answer")
