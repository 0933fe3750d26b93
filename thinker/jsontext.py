"""Parse JSON in a model's text: in a code fence, or before or after a sentence."""

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
CHARACTER = 4  # the first cost of a character; each later access costs 1
MAX_ATTEMPTS = 64  # positions tried in one text
NEXT = re.compile(r"[\s,;]*+(?=\S)")
MAX_TRIED = 256 * 1024  # characters read there until they turned out to be no JSON


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


# Not strict, since models write line breaks into strings.
_DECODER = json.JSONDecoder(strict=False, parse_constant=_refuse_constant)


def parse_value_at(text: str, start: int) -> JsonValue:
    """Parse the JSON value at a position, ignoring what follows it.

    Raises:
        ValueError: no value begins there.
    """
    try:
        value: JsonValue = _DECODER.raw_decode(text, start)[0]
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    return value


def parse_whole_value(text: str) -> JsonValue:
    """Parse a string that is one JSON value.

    Raises:
        ValueError: the string is not one JSON value.
    """
    try:
        value: JsonValue = _DECODER.decode(text)
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    return value


def parse_values(text: str) -> list[JsonValue]:
    """Parse a string of JSON values, one after the other, perhaps with commas between them.

    Raises:
        ValueError: the string contains anything else, or more than `MAX_ATTEMPTS` values.
    """
    values: list[JsonValue] = []
    end = 0
    while found := NEXT.match(text, end):
        if len(values) == MAX_ATTEMPTS:
            raise ValueError("too many values")
        try:
            value, end = _DECODER.raw_decode(text, found.end())
        except RecursionError as error:
            raise ValueError("nested too deep") from error
        values.append(value)
    return values


def parse_first_value(text: str) -> JsonValue:
    """Parse the whole text as JSON, or the first object or array in it.

    Raises:
        ValueError: the text contains no JSON, or too much that only begins like JSON.
    """
    with suppress(ValueError):
        return parse_whole_value(text)
    tried = 0
    for found in islice(re.finditer(r"[{\[]", text), MAX_ATTEMPTS):
        try:
            return parse_value_at(text, found.start())
        except json.JSONDecodeError as error:
            tried += error.pos - found.start()
        except ValueError:
            tried += len(text) - found.start()
        if tried > MAX_TRIED:
            break
    raise ValueError("the answer contains no JSON")


class RepairBudget:
    """The remaining effort for repairing the JSON of one answer.

    The repair library may read the same characters again and again, so each access is counted.
    """

    def __init__(self, left: int = REPAIR_EFFORT) -> None:
        self.left = left

    def spend(self, cost: int) -> None:
        """Spend from the budget.

        Raises:
            ValueError: the budget is used up.
        """
        self.left -= cost
        if self.left < 0:
            raise ValueError("repairing the text would take too long")


class _CountedText(str):
    """A string that spends from a budget on each access, as do its parts."""

    __slots__ = ("_budget",)
    _budget: RepairBudget

    @classmethod
    def wrap_text(cls, text: str, budget: RepairBudget) -> "_CountedText":
        counted = cls(text)
        counted._budget = budget
        return counted

    def __getitem__(self, key: SupportsIndex | slice) -> str:
        self._budget.spend(1)
        part = super().__getitem__(key)
        return _CountedText.wrap_text(part, self._budget) if isinstance(key, slice) else part

    def __add__(self, other: str) -> str:
        return _CountedText.wrap_text(super().__add__(other), self._budget)


def repair_json_object(text: str, budget: RepairBudget) -> JsonObject | None:
    """Repair a malformed JSON object; return None if its meaning is unclear.

    In long text, only line breaks inside strings are repaired.
    """
    try:
        with suppress(ValueError):
            return OBJECT.validate_json(orjson.dumps(parse_whole_value(text))) or None
        if "{" not in text or len(text) > REPAIR_LIMIT:
            return None
        budget.spend(CHARACTER * len(text))
        found = json_repair.loads(_CountedText.wrap_text(text, budget))
        # Re-encode: neither a value that the wire cannot carry nor a counted text is a repair.
        value = orjson.loads(orjson.dumps(found, option=orjson.OPT_NON_STR_KEYS))
        return OBJECT.validate_python(value) or None
    except (ValueError, TypeError, RecursionError, AssertionError):  # json_repair asserts
        return None
