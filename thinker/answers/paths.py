"""Places in an answer, as ``items[*].name`` or ``/items/*/name``, and which of them it lacks."""

import re
from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

from pydantic import JsonValue

Style: TypeAlias = Literal["dot", "slash"]

STEP = re.compile(r"\[(\*|-?\d*)\]|([^.\[\]]+)")
EVERY = {"*", ""}


def missing(value: JsonValue, keys: Iterable[str], style: Style = "dot") -> tuple[str, ...]:
    """Those keys that lead nowhere in the answer; ``[*]`` must lead somewhere in every item."""
    return tuple(key for key in keys if not _leads(value, list(_steps(key, style))))


def _steps(path: str, style: Style) -> Iterator[str]:
    if style == "slash":
        yield from (part.strip("[]") for part in path.split("/") if part)
    else:
        yield from (index or name or "*" for index, name in STEP.findall(path))


def _leads(value: JsonValue, steps: list[str]) -> bool:
    if not steps:
        return True
    first, rest = steps[0], steps[1:]
    if isinstance(value, dict):
        return first in value and _leads(value[first], rest)
    if not isinstance(value, list):
        return False
    if first in EVERY:
        return all(_leads(item, rest) for item in value)
    if not re.fullmatch(r"-?\d+", first):
        return False
    index = int(first)
    return -len(value) <= index < len(value) and _leads(value[index], rest)
