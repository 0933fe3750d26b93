"""The tables that name tests (fault scenarios, seeds): every test in them exists."""

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SCENARIOS = [f"F{number}" for number in range(1, 67)]
TABLES = [TESTS / "faults.md", *sorted(TESTS.glob("seed_*.md"))]


def rows(table: Path) -> list[list[str]]:
    """The cells of each row that is no heading."""
    lines = [line for line in table.read_text("utf-8").splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    return [row for row in cells if row[0] not in {"statement", "scenario"}]


def functions(path: Path) -> set[str]:
    """The names of a file's functions; none if there is no such file."""
    if not path.exists():
        return set()
    found = ast.walk(ast.parse(path.read_text("utf-8")))
    return {node.name for node in found if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_every_scenario_has_its_row() -> None:
    """All 66, in order, each with a test or a reason."""
    found = [row for row in rows(TESTS / "faults.md") if row[0].startswith("F")]
    assert [name for name, *_ in found] == SCENARIOS
    assert [name for name, _, tests, note in found if not tests and not note] == []


def test_every_statement_of_a_seed_has_a_test() -> None:
    """A table without proof is a promise."""
    bare = [row for table in TABLES[1:] for row in rows(table) if "::" not in row[1]]
    assert bare == []


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_tests_of_a_table_exist(table: Path) -> None:
    """By file and by name."""
    text = table.read_text("utf-8")
    named = [test.partition("::") for test in re.findall(r"`([^`]+\.py::[^`]+)`", text)]
    assert len(named) == text.count("::")
    assert [name for file, _, name in named if name not in functions(TESTS / file)] == []
