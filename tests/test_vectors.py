"""The product gives every known answer, or a deviation that deviations.md explains."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from vector_runner.areas import AREAS
from vector_runner.cases import PUBLIC, VECTORS, Case, load
from vector_runner.conversation import to_messages
from vector_runner.outcome import judge, listed

ALL = [case for path in sorted(VECTORS.glob("*.json")) for case in load(path)]
CASES = [case for case in ALL if case.area in AREAS]
SCRIPT = Path(__file__).parent.parent / "scripts" / "vectors"


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case_is_answered_as_expected_or_as_deviations_explain(case: Case) -> None:
    """The failure message shows the difference."""
    outcome = judge(case, listed())
    assert outcome.verdict in {"passed", "deviation"}, outcome.why


def test_every_area_of_the_runtime_has_an_adapter() -> None:
    """No case of the runtime's vectors is left out."""
    assert {case.area for case in load(PUBLIC)} <= AREAS.keys()


def test_every_deviation_is_a_known_rule_or_case() -> None:
    """And every rule is in the table with its reason."""
    cases = {(case.area, case.name) for case in CASES}
    rules = {(area, rule) for area, value in AREAS.items() for rule in value.rules}
    rows = listed() - {("area", "rule or case"), ("---", "---"), ("*", "defect")}
    assert rows <= rules | cases
    assert rules <= rows


def test_deviation_counts_only_if_the_table_names_it() -> None:
    """Without the table every deviation is a failure."""
    explained = [case for case in CASES if judge(case, listed()).verdict == "deviation"]
    assert explained
    assert {judge(case, frozenset()).verdict for case in explained} == {"failed"}


def test_wrong_answer_fails_in_every_area() -> None:
    """No comparison accepts every answer."""
    for name in AREAS:
        case = next(case for case in CASES if case.area == name and case.expected)
        wrong = Case(case.area, "wrong", case.given, _spoiled(case.expected), case.entry)
        assert judge(wrong, listed()).verdict == "failed", name


def test_no_rule_explains_any_answer() -> None:
    """Each refuses the product's own answer once every text and number in it is another one."""
    tried = set()
    for case in CASES:
        rule = AREAS[case.area].rules.get(judge(case, listed()).why)
        got = AREAS[case.area].run(case.given)
        if rule is None or isinstance(got, bool):
            continue  # the only other answer would be the expected one
        assert not _explains(rule, case, _spoiled(got)), str(case)
        tried.add(rule)
    assert len(tried) >= 7


def _explains(rule: Callable[[Case, Any], bool], case: Case, answer: object) -> bool:
    try:
        return rule(case, answer)
    except (KeyError, TypeError, AttributeError):
        return False


NOTE = "x" * 100 + " [truncated, was {} chars]"


@pytest.mark.parametrize(("length", "explained"), [(5_000, True), (5_001, False), (9, False)])
def test_only_the_length_of_the_whole_result_explains_another_number(
    length: int, *, explained: bool
) -> None:
    """Whatever number the reference counted."""
    text = "x" * 5_000

    def result(content: str) -> list[dict[str, Any]]:
        part = {"toolCallId": "1", "toolName": "a", "result": content}
        return [{"role": "tool", "content": [part]}]

    given = {"messages": result(text), "preserveLastN": 0}
    case = Case("history_truncation", "number", given, result(NOTE.format(4_990)), {})
    area = AREAS["history_truncation"]
    ours = to_messages(result(NOTE.format(length)))
    assert area.rules["length-of-text"](case, ours) is explained


@pytest.mark.parametrize(
    ("name", "rule", "schema", "wrong"),
    [
        ("plain", "no-parameters", {}, "(some parameters)"),
        ('od"d', "escaped-name", {"type": "object", "properties": {}}, '<tool_call>{"name":"od'),
    ],
)
def test_only_the_lines_of_a_rule_are_explained_in_instructions(
    name: str, rule: str, schema: dict[str, Any], wrong: str
) -> None:
    """A word that was lost or added elsewhere is another difference."""
    given = {"tools": [{"type": "function", "name": name, "parameters": schema}]}
    area = AREAS["injection"]
    got = area.run(given)
    text = "developerInstructions"
    [example] = [line for line in got[text].splitlines() if line.startswith("<tool_call>")][-1:]
    theirs = {**got, text: got[text].replace(example, "<tool_call>theirs</tool_call>")}
    case = Case("injection", "lines", given, theirs, {})
    assert area.rules[rule](case, got)
    for spoiled in (got[text] + "\nmore", got[text].replace(example, wrong)):
        assert not area.rules[rule](case, {**got, text: spoiled})


def _spoiled(expected: object) -> object:
    """Return another answer of the same type."""
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
    """Unknown areas and wrong answers fail; the last line is the total."""
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
