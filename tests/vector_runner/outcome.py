"""Judge cases: passed, failed, or a deviation listed in tests/vectors/deviations.md."""

import difflib
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import orjson
from pydantic import BaseModel
from vector_runner.areas import AREAS
from vector_runner.cases import VECTORS, Case

DEVIATIONS = VECTORS / "deviations.md"
# Vectors with such a name record a defect of the reference.
DEFECT = re.compile(r"defect|known gap|\bbug\b|\bLOST\b|\bnever\b")
MAX_DIFFERENCE = 24  # lines


@dataclass(frozen=True)
class Outcome:
    """The verdict on a case; ``why`` is the difference, or the rule that explains it."""

    case: Case
    verdict: Literal["passed", "failed", "deviation"]
    why: str = ""


def listed(path: Path = DEVIATIONS) -> frozenset[tuple[str, str]]:
    """Return the rows of the table: area, and name of a rule or case."""
    rows = (line.split("|") for line in path.read_text("utf-8").splitlines() if line[:1] == "|")
    cells = ([cell.strip().strip("`") for cell in row[1:3]] for row in rows)
    return frozenset((area, name) for area, name in cells)


def judge(case: Case, deviations: Collection[tuple[str, str]]) -> Outcome:
    """Run a case through the product and judge the answer."""
    area = AREAS.get(case.area)
    if area is None:
        return Outcome(case, "failed", f"unknown area {case.area!r}")
    try:
        expected, got = area.read(case.expected), area.run(case.given)
        same = area.same(expected, got)
    except Exception as error:  # noqa: BLE001 - any error fails only its case
        return _explained(case, deviations, [], f"{type(error).__name__}: {error}")
    if same:
        return Outcome(case, "passed")
    fitting = [name for name, rule in area.rules.items() if rule(case, got)]
    return _explained(case, deviations, fitting, difference(expected, got))


def _explained(
    case: Case, deviations: Collection[tuple[str, str]], rules: Iterable[str], why: str
) -> Outcome:
    for name in (*rules, case.name):
        if (case.area, name) in deviations:
            return Outcome(case, "deviation", name)
    if DEFECT.search(case.name) and ("*", "defect") in deviations:
        return Outcome(case, "deviation", "defect")
    return Outcome(case, "failed", why)


def difference(expected: Any, got: Any) -> str:
    """Return a line diff of two values, shortened."""
    lines = difflib.unified_diff(_lines(expected), _lines(got), "expected", "got", n=2, lineterm="")
    shown = list(lines)
    more = len(shown) - MAX_DIFFERENCE
    return "\n".join(shown[:MAX_DIFFERENCE] + ([f"… {more} lines more"] if more > 0 else []))


def _lines(value: Any) -> list[str]:
    if isinstance(value, str):
        return value.splitlines() or [""]
    options = orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS
    return orjson.dumps(value, _plain, options).decode().splitlines()


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    return sorted(value) if isinstance(value, set | frozenset) else repr(value)
