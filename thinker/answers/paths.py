"""Paths into an answer, such as ``items[*].name``."""

import re
from collections.abc import Iterable

from pydantic import JsonValue

STEP = re.compile(r"\[(\*|-?\d*)\]|([^.\[\]]+)")


def missing(value: JsonValue, paths: Iterable[str]) -> tuple[str, ...]:
    """Return the paths that a value does not have; every item must have what follows ``[*]``."""
    return tuple(path for path in paths if not _exists(value, _steps(path)))


def _steps(path: str) -> list[str]:
    return [index or name or "*" for index, name in STEP.findall(path)]


def _exists(value: JsonValue, steps: list[str]) -> bool:
    if not steps:
        return True
    first, rest = steps[0], steps[1:]
    if isinstance(value, dict):
        return first in value and _exists(value[first], rest)
    if not isinstance(value, list):
        return False
    if first == "*":
        return all(_exists(item, rest) for item in value)
    if not re.fullmatch(r"-?\d+", first):
        return False
    index = int(first)
    return -len(value) <= index < len(value) and _exists(value[index], rest)
