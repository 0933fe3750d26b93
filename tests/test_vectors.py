"""Cases with known answers, through the product; deviations.md says where we answer otherwise."""

import json
import subprocess
from pathlib import Path

import pytest
from vector_runner.areas import AREAS
from vector_runner.cases import PUBLIC, VECTORS, Case, load
from vector_runner.outcome import judge, listed

ALL = [case for path in sorted(VECTORS.glob("*.json")) for case in load(path)]
CASES = [case for case in ALL if case.area in AREAS]
SCRIPT = Path(__file__).parent.parent / "scripts" / "vectors"


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case_is_answered_as_expected_or_as_deviations_explain(case: Case) -> None:
    """A failure shows the difference."""
    outcome = judge(case, listed())
    assert outcome.verdict in {"passed", "deviation"}, outcome.why


def test_every_area_of_the_runtime_is_run() -> None:
    """None is left out because nobody wrote its adapter."""
    assert {case.area for case in load(PUBLIC)} <= AREAS.keys()


def test_every_deviation_is_a_known_rule_or_case() -> None:
    """And every rule stands in the table with its reason, or it explains nothing."""
    cases = {(case.area, case.name) for case in CASES}
    rules = {(area, rule) for area, value in AREAS.items() for rule in value.rules}
    rows = listed() - {("area", "rule or case"), ("---", "---"), ("*", "defect")}
    assert rows <= rules | cases
    assert rules <= rows


def test_deviation_explains_nothing_when_the_table_does_not_name_it() -> None:
    """The table decides, not the code."""
    explained = [case for case in CASES if judge(case, listed()).verdict == "deviation"]
    assert explained
    assert {judge(case, frozenset()).verdict for case in explained} == {"failed"}


def test_wrong_answer_in_every_area_is_noticed() -> None:
    """No comparison is so lenient that it takes anything."""
    for name in AREAS:
        case = next(case for case in CASES if case.area == name and case.expected)
        wrong = Case(case.area, "wrong", case.given, _spoiled(case.expected), case.entry)
        assert judge(wrong, listed()).verdict == "failed", name


def _spoiled(expected: object) -> object:
    """Another answer of the same kind."""
    if isinstance(expected, bool):
        return not expected
    if isinstance(expected, str):
        return f"not {expected}"
    if isinstance(expected, list):
        return [] if expected else [12_345]
    if isinstance(expected, dict):
        return {
            key: _spoiled(value) if isinstance(value, bool | str | list | dict) else 12_345
            for key, value in expected.items()
        }
    return 12_345


def test_script_counts_and_names_what_fails(tmp_path: Path) -> None:
    """An unknown area and a wrong answer fail; the last line is the sum."""
    cases = [
        {"area": "$header", "name": "about"},
        {"area": "tool_policy", "name": "right", "input": POLICY, "expected": True},
        {"area": "tool_policy", "name": "wrong", "input": POLICY, "expected": False},
        {"area": "astrology", "name": "stars", "input": None, "expected": None},
    ]
    file = tmp_path / "held.json"
    file.write_text(json.dumps(cases), "utf-8")
    done = subprocess.run([SCRIPT, file], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert "FAILED tool_policy/wrong" in done.stdout
    assert "FAILED astrology/stars\nunknown area 'astrology'" in done.stdout
    assert done.stdout.splitlines()[-1] == "1 passed, 2 failed"


POLICY = {"tool": "read", "allowedTools": [], "deniedTools": []}
