"""Parse JSON that a model wrote among other text: in a code fence, after or before a sentence."""

import json
import re
from contextlib import suppress
from itertools import islice
from typing import NoReturn, SupportsIndex

import json_repair
import orjson
from pydantic import JsonValue

from thinker.protocol.messages import OBJECT, JsonObject

REPAIR_LIMIT = 8192  # characters
REPAIR_EFFORT = 6 * REPAIR_LIMIT  # for one answer of a model; about 50 ms at most
CHARACTER = 4  # what a character costs at first; looking at one later costs 1
MAX_ATTEMPTS = 64  # positions tried in one text
MAX_TRIED = 256 * 1024  # characters read at them, until they turned out to be no JSON


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
        ValueError: the text contains no JSON, or too much that only begins like it.
    """
    with suppress(ValueError):
        return whole_value(text)
    tried = 0
    for found in islice(re.finditer(r"[{\[]", text), MAX_ATTEMPTS):
        try:
            return value_at(text, found.start())
        except json.JSONDecodeError as error:
            tried += error.pos - found.start()
        except ValueError:
            tried += len(text) - found.start()
        if tried > MAX_TRIED:
            break
    raise ValueError("there is no JSON in the answer")


class RepairBudget:
    """How much may still be spent on repairing JSON; one for all that a model answers at once.

    The repair library may look at the same characters again and again, so looks are counted.
    """

    def __init__(self, left: int = REPAIR_EFFORT) -> None:
        self.left = left

    def spend(self, cost: int) -> None:
        """Take from what is left.

        Raises:
            ValueError: it is not enough.
        """
        self.left -= cost
        if self.left < 0:
            raise ValueError("to repair the text would take too long")


class _Counted(str):
    """A text that spends from a budget whenever it is looked at, and so do its parts."""

    __slots__ = ("_budget",)
    _budget: RepairBudget

    @classmethod
    def of(cls, text: str, budget: RepairBudget) -> "_Counted":
        counted = cls(text)
        counted._budget = budget
        return counted

    def __getitem__(self, key: SupportsIndex | slice) -> str:
        self._budget.spend(1)
        part = super().__getitem__(key)
        return _Counted.of(part, self._budget) if isinstance(key, slice) else part

    def __add__(self, other: str) -> str:
        return _Counted.of(super().__add__(other), self._budget)


def repaired(text: str, budget: RepairBudget) -> JsonObject | None:
    """Return the JSON object that a malformed text stands for; None if it is not clear.

    In a long text, line breaks inside strings are the only fault that is repaired.
    """
    try:
        with suppress(ValueError):
            return OBJECT.validate_json(orjson.dumps(whole_value(text))) or None
        if "{" not in text or len(text) > REPAIR_LIMIT:
            return None
        budget.spend(CHARACTER * len(text))
        found = json_repair.loads(_Counted.of(text, budget))
        # Re-encode: a value that the wire cannot carry is no repair, nor are counted texts.
        value = orjson.loads(orjson.dumps(found, option=orjson.OPT_NON_STR_KEYS))
        return OBJECT.validate_python(value) or None
    except (ValueError, TypeError, RecursionError, AssertionError):  # json_repair asserts
        return None
