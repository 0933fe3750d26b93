"""Check arguments and answers against JSON Schemas that strangers may have written.

A schema can make a check take arbitrarily long: by a regular expression, by references that double,
by a long list whose items must differ. So the work is counted, and a check that costs too much is
left to the tool's server.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from itertools import islice
from math import inf

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend, validator_for
from pydantic import JsonValue
from referencing.exceptions import Unresolvable
from referencing.jsonschema import EMPTY_REGISTRY

from thinker.protocol.messages import MAX_SCHEMA_OBJECTS, JsonObject, has_too_many_objects

MAX_PROBLEMS = 3
MAX_PROBLEM_CHARS = 200
MAX_SCHEMA = 256 * 1024  # characters as JSON
CHECK_WORK = 30_000  # keywords applied, some microseconds each
CHARS_PER_WORK = 32  # characters or members of a value that cost as much as a keyword
MAX_PATTERN = 1000  # characters
PATTERN_WORK = 1_000_000  # steps of one search, some nanoseconds each
STEPS_PER_WORK = 200  # of a search that cost as much as a keyword
UNCHECKED = ("unevaluatedProperties", "unevaluatedItems")  # they apply schemas out of sight
TOKEN = re.compile(
    r"\\[1-9].*+"  # a reference to a group, which can match anything
    r"|\\.|\[\^?\]?[^\]\\]*+(?:\\.[^\]\\]*+)*\]"
    r"|\)(?:[*+]|\{).*+|\(\?(?!:).*+"  # a repeated group, an assertion or flag
    r"|[*+?|]|\{[\d,]*+\}",
    re.DOTALL,
)

Check = Callable[[Validator, JsonValue, JsonValue, JsonObject], Iterable[ValidationError] | None]


class TooMuchWorkError(Exception):
    """A check exceeds its limit of work."""


class _Work:
    """The work that the running check may still do; there is one check at a time."""

    def __init__(self) -> None:
        self._left = 0

    def set_limit(self, most: int) -> None:
        self._left = most

    def spend(self, cost: int) -> None:
        self._left -= cost
        if self._left < 0:
            raise TooMuchWorkError


WORK = _Work()


def check_against_schema(arguments: JsonObject, schema: JsonObject) -> str | None:
    """Return the problems of the arguments, for the model to read; None if they are valid.

    A schema that is invalid or too costly validates nothing; the tool's server decides.
    """
    validator = _build_validator(json.dumps(schema))
    if validator is None:
        return None
    WORK.set_limit(CHECK_WORK)
    try:
        found = list(islice(validator.iter_errors(arguments), MAX_PROBLEMS))
    except (Unresolvable, RecursionError, AttributeError, TypeError, TooMuchWorkError):
        return None  # the middle two: a reference to a value that is not a schema
    problems = [f"{error.json_path}: {error.message}"[:MAX_PROBLEM_CHARS] for error in found]
    return "; ".join(problems) or None


def estimate_pattern_work(pattern: str, length: int) -> float:
    """Return the most steps of a search in a string of this length; infinite if unclear.

    Without repetition inside repetition, a search tries each number of repetitions of each part
    with each of the others, from each position.
    """
    tokens = TOKEN.findall(pattern)
    work = 1.0 if pattern.startswith("^") and "|" not in tokens else length + 1.0
    for token in tokens:
        if token.startswith(("(", ")")) or (token.startswith("\\") and token[1].isdecimal()):
            return inf
        if token in ("*", "+"):
            work *= length + 1
        elif token in ("?", "|"):
            work *= 2
        elif token.startswith("{"):
            most = token[1:-1].rpartition(",")[2]
            work *= min(length, int(most) if most else length) + 1
    return work


@lru_cache(maxsize=512)
def _build_validator(schema: str) -> Validator | None:
    if len(schema) > MAX_SCHEMA:
        return None
    parsed = json.loads(schema)
    named = isinstance(parsed.get("$schema"), str)
    kind = validator_for(parsed, Draft202012Validator) if named else Draft202012Validator
    parsed.pop("$schema", None)
    # In a subschema it would replace the counting validator by another one.
    if '"$schema"' in json.dumps(parsed) or has_too_many_objects(parsed, MAX_SCHEMA_OBJECTS):
        return None
    try:
        kind.check_schema(parsed)
    except (SchemaError, RecursionError):
        return None
    # The default registry would fetch references from the network.
    return _limit_validator(kind)(parsed, registry=EMPTY_REGISTRY)


@cache
def _limit_validator(kind: type[Validator]) -> type[Validator]:
    """Return a validator class that counts its work and skips costly checks."""
    checks: dict[str, Check] = {
        name: _count_check(check) for name, check in kind.VALIDATORS.items()
    }
    for name in UNCHECKED:
        checks[name] = _check_nothing
    checks["pattern"] = _make_conditional(_is_cheap_pattern, checks["pattern"])
    for name in ("patternProperties", "additionalProperties"):
        checks[name] = _make_conditional(_has_cheap_names, checks[name])
    bounded: type[Validator] = extend(kind, checks)  # type: ignore[no-untyped-call]  # theirs
    return bounded


def _count_check(check: Check) -> Check:
    unique: Check = Draft202012Validator.VALIDATORS["uniqueItems"]

    def run_counted(
        validator: Validator, value: JsonValue, instance: JsonValue, schema: JsonObject
    ) -> Iterator[ValidationError]:
        WORK.spend(1 + _measure_value(value) + _measure_value(instance) // CHARS_PER_WORK)
        if check is unique and not _is_sortable(instance):
            WORK.spend(_measure_value(instance) ** 2)
        yield from check(validator, value, instance, schema) or ()

    return run_counted


def _make_conditional(
    cheap: Callable[[JsonValue, JsonValue, JsonObject], bool], check: Check
) -> Check:
    """Return a check that is skipped where it is costly."""

    def run_if_cheap(
        validator: Validator, value: JsonValue, instance: JsonValue, schema: JsonObject
    ) -> Iterator[ValidationError]:
        if cheap(value, instance, schema):
            yield from check(validator, value, instance, schema) or ()

    return run_if_cheap


def _is_cheap_pattern(value: JsonValue, instance: JsonValue, _: JsonObject) -> bool:
    return isinstance(instance, str) and _can_search(str(value), len(instance))


def _has_cheap_names(_: JsonValue, instance: JsonValue, schema: JsonObject) -> bool:
    """Return whether all patterns of names are cheap."""
    found = schema.get("patternProperties")
    patterns = found if isinstance(found, dict) else {}
    names = instance if isinstance(instance, dict) else {}
    return all(_can_search(pattern, len(name)) for pattern in patterns for name in names)


def _can_search(pattern: str, length: int) -> bool:
    """Return whether to search for a pattern, and count the work."""
    if len(pattern) > MAX_PATTERN:
        return False
    work = estimate_pattern_work(pattern, length)
    if work > PATTERN_WORK:
        return False
    WORK.spend(1 + round(work) // STEPS_PER_WORK)
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return False
    return True


def _check_nothing(
    validator: Validator, value: JsonValue, instance: JsonValue, schema: JsonObject
) -> None:
    """Check nothing."""


def _is_sortable(instance: JsonValue) -> bool:
    """Return whether the items can be sorted, so that equal ones are found fast."""
    kinds = {type(item) for item in instance} if isinstance(instance, list) else set()
    return kinds <= {str} or kinds <= {int, float}


def _measure_value(value: JsonValue) -> int:
    return len(value) if isinstance(value, str | list | dict) else 0
