"""Values are checked against schemas that come from outside."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from thinker.protocol.messages import MAX_SCHEMA_OBJECTS
from thinker.toolcalls.arguments import coerce_arguments
from thinker.toolcalls.schema_validation import (
    CHECK_WORK,
    MAX_SCHEMA,
    PATTERN_WORK,
    WORK,
    TooMuchWorkError,
    check_against_schema,
    estimate_pattern_work,
)

INTEGER: dict[str, Any] = {"type": "integer"}


def tool(*required: str, **properties: Any) -> dict[str, Any]:
    """A tool's schema with these fields."""
    return {"type": "object", "properties": properties, "required": list(required)}


def test_good_arguments_have_no_problem() -> None:
    """After coercion the strict schema holds."""
    schema = tool("n", n=INTEGER)
    assert check_against_schema(coerce_arguments({"n": "5"}, schema), schema) is None


def test_problems_name_their_paths() -> None:
    """The model reads which argument is wrong and how."""
    schema = tool("q", q={"type": "string"}, list={"type": "array", "items": INTEGER})
    problem = check_against_schema({"list": [1, "x"]}, schema)
    assert problem is not None
    assert "$.list[1]: 'x' is not of type 'integer'" in problem
    assert "'q' is a required property" in problem


def test_problems_are_few_and_short() -> None:
    """A large wrong argument does not fill the context."""
    problem = check_against_schema(
        {"list": ["x" * 10_000] * 1000}, tool(list={"type": "array", "items": INTEGER})
    )
    assert problem is not None
    assert len(problem) < 700


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "nonsense"},
        {"properties": {"a": {"$ref": "#/$defs/Missing"}}},
        {"properties": {"a": {"$ref": "http://127.0.0.1:9/schema.json"}}},
        {"$ref": "#"},
        {"properties": {"a": {"pattern": "("}}},
        {"properties": 5},
        {"$schema": []},
        {"$schema": "http://127.0.0.1:9/meta", "type": 5},
    ],
)
def test_broken_schema_of_a_server_stops_nothing(schema: dict[str, Any]) -> None:
    """It is not used, nothing is fetched from the network, and the server decides."""
    assert check_against_schema({"a": "x"}, schema) is None


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        (tool(a={"pattern": "^[a-z]{2,3}$"}), "does not match"),
        (tool(a={"pattern": r"^https?://[^/]+$"}), "does not match"),
        ({"patternProperties": {"^a": INTEGER}}, "is not of type"),
        ({"patternProperties": {"^b": {}}, "additionalProperties": False}, "do"),
        ({"$schema": "http://json-schema.org/draft-07/schema#", **tool("b")}, "required"),
    ],
)
def test_usual_patterns_are_checked(schema: dict[str, Any], problem: str) -> None:
    """The model can correct itself before the server is called."""
    assert problem in (check_against_schema({"a": "1234"}, schema) or "")


DOUBLING: dict[str, Any] = {f"d{n}": {"allOf": [{"$ref": f"#/d{n - 1}"}] * 2} for n in range(1, 60)}


@pytest.mark.parametrize(
    "schema",
    [
        tool(a={"pattern": "^(a+)+$"}),
        tool(a={"pattern": "^(a|a)*$"}),
        tool(a={"pattern": "a*" * 200 + "!"}),
        tool(a={"pattern": "^(?=(a+)+$)"}),
        tool(a={"pattern": "a" * 5000}),
        tool(b={"propertyNames": {"pattern": "^(a+)+$"}}),
        tool(b={"patternProperties": {"^(a+)+$": {}}, "additionalProperties": False}),
        {"d0": {}, **DOUBLING, "$ref": "#/d59"},
        tool(c={"uniqueItems": True}),
        tool(c={"items": {"anyOf": [*[INTEGER] * 500, {}]}}),
        tool(a={"$schema": "https://json-schema.org/draft/2020-12/schema", "pattern": "^(a+)+$"}),
        tool(a={"unevaluatedProperties": {"pattern": "^(a+)+$"}}),
        tool(a={"anyOf": [{}] * MAX_SCHEMA_OBJECTS}),
        tool(a={"type": "integer", "description": "x" * MAX_SCHEMA}),
    ],
)
def test_costly_schema_of_a_server_checks_nothing(schema: dict[str, Any]) -> None:
    """It returns at all, and the server decides."""
    text = "a" * 5000 + "!"
    mixed: list[JsonValue] = [{"n": n} if n % 2 else str(n) for n in range(20_000)]
    assert check_against_schema({"a": text, "b": {text: 1}, "c": mixed}, schema) is None


def test_work_of_a_check_is_counted() -> None:
    """What is left decides, not the clock."""
    WORK.set_limit(CHECK_WORK)
    WORK.spend(CHECK_WORK)
    with pytest.raises(TooMuchWorkError):
        WORK.spend(1)


@pytest.mark.parametrize(
    ("pattern", "work"),
    [
        ("^abc$", 1),
        ("abc", 11),
        ("^a|b", 22),
        ("^a+b?$", 22),
        ("^a{3}$", 4),
        ("^a{1,99}$", 11),
        ("^a{1,}$", 11),
        (r"^[+*]\*\)\\$", 1),
        ("(ab)+", float("inf")),
        ("(ab){2}", float("inf")),
        ("(?:ab)", 22),
        ("(?i)ab", float("inf")),
        (r"(a)\1", float("inf")),
    ],
)
def test_work_of_a_pattern_is_bounded_by_its_repetitions(pattern: str, work: float) -> None:
    """In a text of ten characters."""
    assert estimate_pattern_work(pattern, 10) == work


@pytest.mark.filterwarnings("ignore:Possible nested set:FutureWarning")
@given(st.text(alphabet="a+*?|()[]{}1,^$\\ :=!", max_size=12))
def test_pattern_that_counts_as_cheap_is_searched(pattern: str) -> None:
    """A long text ends the search all the same, if it is a pattern at all."""
    text = "a" * 2000 + "!"
    if estimate_pattern_work(pattern, len(text)) <= PATTERN_WORK:
        try:
            re.search(pattern, text)
        except (re.error, OverflowError):
            return
