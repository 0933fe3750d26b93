"""The table of fault scenarios: complete, and every test in it exists."""

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SCENARIOS = [f"F{number}" for number in range(1, 67)]


def rows() -> list[list[str]]:
    """Scenario, what it is, tests and note of each row."""
    lines = (TESTS / "faults.md").read_text("utf-8").splitlines()
    return [[cell.strip() for cell in line.split("|")[1:5]] for line in lines if "| F" in line]


def functions(path: Path) -> set[str]:
    """The names of a file's functions; none if there is no such file."""
    if not path.exists():
        return set()
    found = ast.walk(ast.parse(path.read_text("utf-8")))
    return {node.name for node in found if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_every_scenario_has_its_row() -> None:
    """All 66, in order, each with a test or a reason."""
    assert [name for name, *_ in rows()] == SCENARIOS
    assert [name for name, _, tests, note in rows() if not tests and not note] == []


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_tests_of_a_scenario_exist(row: list[str]) -> None:
    """By file and by name."""
    named = [test.partition("::") for test in re.findall(r"`([^`]+\.py::[^`]+)`", row[2])]
    assert len(named) == row[2].count("::")
    assert [name for file, _, name in named if name not in functions(TESTS / file)] == []
