"""Reads files of cases with known answers: a list of entries with area, name, input, expected."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

VECTORS = Path(__file__).parent.parent / "vectors"
PUBLIC = VECTORS / "agent_runtime.json"
NO_CASES = ("$header", "fixture")  # areas of entries that describe the file or lend it values


@dataclass(frozen=True)
class Case:
    """One case; ``entry`` is the whole of it, for areas with fields of their own."""

    area: str
    name: str
    given: Any
    expected: Any
    entry: Mapping[str, Any] = field(repr=False)

    def __str__(self) -> str:
        """How it is named in output and in deviations.md."""
        return f"{self.area}/{self.name}"


def load(path: Path) -> list[Case]:
    """The cases of a file; a fixture that an input names stands in its place.

    Raises:
        ValueError: the file has another shape.
    """
    entries = json.loads(path.read_text("utf-8"))
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ValueError(f"{path}: not a list of cases")
    lent = _fixtures(PUBLIC) | _own_fixtures(entries)
    try:
        return [
            Case(entry["area"], entry["name"], _lend(entry["input"], lent), _expected(entry), entry)
            for entry in entries
            if entry.get("area") not in NO_CASES
        ]
    except KeyError as error:
        raise ValueError(f"{path}: a case has no {error}") from error


def _expected(entry: dict[str, Any]) -> Any:
    """Where two releases of a reference differ, the seed describes the older one."""
    return entry.get("expected_seed_version", entry["expected"])


def area(name: str) -> list[Case]:
    """The public cases of an area."""
    return [case for case in load(PUBLIC) if case.area == name]


def fixture(name: str) -> Any:
    """A value that the public file lends to its cases."""
    return _fixtures(PUBLIC)[name]


@lru_cache
def _fixtures(path: Path) -> dict[str, Any]:
    return _own_fixtures(json.loads(path.read_text("utf-8")))


def _own_fixtures(entries: list[dict[str, Any]]) -> dict[str, Any]:
    return {entry["name"]: entry["expected"] for entry in entries if entry.get("area") == "fixture"}


def _lend(given: Any, lent: Mapping[str, Any]) -> Any:
    """``"playbooks": "seeded-17"`` means the fixture ``seeded-17 playbooks``."""
    if not isinstance(given, dict):
        return given
    return {
        key: lent.get(f"{value} {key}", value) if isinstance(value, str) else value
        for key, value in given.items()
    }
