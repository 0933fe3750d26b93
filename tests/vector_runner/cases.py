"""Read files of cases: lists of entries with area, name, input and expected answer."""

import json
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

VECTORS = Path(__file__).parent.parent / "vectors"
PUBLIC = VECTORS / "agent_runtime.json"
NO_CASES = ("$header", "fixture")  # entries that describe the file or hold shared values


@dataclass(frozen=True)
class Case:
    """A case; ``entry`` is the whole entry, for areas with more fields."""

    area: str
    name: str
    given: Any
    expected: Any
    entry: Mapping[str, Any] = field(repr=False)

    def __str__(self) -> str:
        """Return the name in the output and in deviations.md."""
        return f"{self.area}/{self.name}"


@dataclass(frozen=True)
class Area:
    """How the cases of an area run through the product.

    ``run`` computes the product's answer, ``read`` converts the expected answer to its form.
    ``rules`` are the area's deviations in deviations.md, by name: each returns whether it alone
    explains a different answer.
    """

    run: Callable[[Any], Any]
    read: Callable[[Any], Any] = lambda value: value
    same: Callable[[Any, Any], bool] = operator.eq
    rules: Mapping[str, Callable[[Case, Any], bool]] = field(default_factory=dict)


def load(path: Path) -> list[Case]:
    """Return the cases of a file, with fixtures in the place of their names.

    Raises:
        ValueError: The file is not a list of cases.
    """
    entries = json.loads(path.read_text("utf-8"))
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ValueError(f"{path}: not a list of cases")
    fixtures = _fixtures(PUBLIC) | _own_fixtures(entries)
    try:
        return [
            Case(
                entry["area"],
                entry["name"],
                _with_fixtures(entry["input"], fixtures),
                # The product follows the older of two recorded releases.
                entry.get("expected_seed_version", entry["expected"]),
                entry,
            )
            for entry in entries
            if entry.get("area") not in NO_CASES
        ]
    except KeyError as error:
        raise ValueError(f"{path}: a case has no {error}") from error


def area(name: str) -> list[Case]:
    """Return the public cases of an area."""
    return [case for case in load(PUBLIC) if case.area == name]


def fixture(name: str) -> Any:
    return _fixtures(PUBLIC)[name]


@lru_cache
def _fixtures(path: Path) -> dict[str, Any]:
    return _own_fixtures(json.loads(path.read_text("utf-8")))


def _own_fixtures(entries: list[dict[str, Any]]) -> dict[str, Any]:
    return {entry["name"]: entry["expected"] for entry in entries if entry.get("area") == "fixture"}


def _with_fixtures(given: Any, fixtures: Mapping[str, Any]) -> Any:
    """Replace names of fixtures: ``"playbooks": "seeded-17"`` is ``seeded-17 playbooks``."""
    if not isinstance(given, dict):
        return given
    return {
        key: fixtures.get(f"{value} {key}", value) if isinstance(value, str) else value
        for key, value in given.items()
    }


def ms(text: str) -> int:
    """Return the milliseconds of an instant."""
    return round(datetime.fromisoformat(text).timestamp() * 1000)
