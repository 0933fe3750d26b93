"""Arguments as models write them become arguments as tools expect them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinker.toolcalls.arguments import MAX_BRANCHES, _iter_branches, coerce_arguments, relax_schema

INTEGER: dict[str, Any] = {"type": "integer"}
NUMBER: dict[str, Any] = {"type": "number"}
BOOLEAN: dict[str, Any] = {"type": "boolean"}
MAYBE: dict[str, Any] = {"anyOf": [INTEGER, {"type": "null"}]}


def tool(*required: str, **properties: Any) -> dict[str, Any]:
    """A tool's schema with these fields."""
    return {"type": "object", "properties": properties, "required": list(required)}


@pytest.mark.parametrize(
    ("schema", "given_value", "expected"),
    [
        (INTEGER, "5", 5),
        ({"type": "object"}, ' {"a": [1]}', {"a": [1]}),
        ({"type": "array"}, "[1, 2]", [1, 2]),
        ({"type": "array"}, "[1, 2", "[1, 2"),
        ({"type": ["object", "string"]}, '{"a": 1}', '{"a": 1}'),
        (INTEGER, " -5 ", -5),
        (INTEGER, "5.5", "5.5"),
        (INTEGER, "five", "five"),
        (INTEGER, "9" * 5000, "9" * 5000),
        (NUMBER, "5", 5),
        (NUMBER, "5.5", 5.5),
        (NUMBER, "1e3", 1000.0),
        (NUMBER, "1e999", "1e999"),
        (NUMBER, "nan", "nan"),
        (BOOLEAN, "true", True),
        (BOOLEAN, "False", False),
        (BOOLEAN, "yes", "yes"),
        ({"type": "string"}, "5", "5"),
        ({"type": ["string", "integer"]}, "5", "5"),
        ({}, "5", "5"),
        (MAYBE, "5", 5),
        (MAYBE, None, None),
        ({"type": "array", "items": INTEGER}, ["1", 2, "x"], [1, 2, "x"]),
        ({"anyOf": [{"type": "array", "items": INTEGER}, {"type": "null"}]}, ["1"], [1]),
        (tool(n=INTEGER), {"n": "1", "m": "1"}, {"n": 1, "m": "1"}),
        ({"$ref": "#/$defs/Point"}, {"x": "1"}, {"x": 1}),
        ({"$ref": "#/$defs/Loop"}, "1", "1"),
        ({"$ref": "https://example.com/schema"}, "1", "1"),
        (True, "5", "5"),
    ],
)
def test_value_is_coerced_only_where_the_schema_is_certain(
    schema: Any, given_value: Any, expected: Any
) -> None:
    """A string becomes a number or a boolean if no string is allowed."""
    whole = tool("x", x=schema) | {
        "$defs": {"Point": tool(x=INTEGER), "Loop": {"$ref": "#/$defs/Loop"}}
    }
    coerced = coerce_arguments({"x": given_value}, whole)
    assert coerced == {"x": expected}
    assert type(coerced["x"]) is type(expected)


def test_empty_text_of_an_optional_field_is_left_out_where_it_cannot_be_meant() -> None:
    """A needed one is refused by name; one that may be text, or anything, stays."""
    schema = tool("n", n=NUMBER, o=INTEGER, b=BOOLEAN, s={"type": "string"}, a={}, m=MAYBE)
    given_values = {"n": "", "o": " ", "b": "", "s": "", "a": "", "m": ""}
    assert coerce_arguments(dict(given_values), schema) == {"n": "", "s": "", "a": ""}


def test_null_of_an_optional_field_is_left_out() -> None:
    """Null stays if required, allowed or unknown."""
    schema = tool("a", a=INTEGER, b=INTEGER, c=MAYBE, d={}, e=tool(f=INTEGER))
    given_arguments: dict[str, Any] = dict.fromkeys("abcdz") | {"e": {"f": None}}
    assert coerce_arguments(given_arguments, schema) == {
        "a": None,
        "c": None,
        "d": None,
        "z": None,
        "e": {},
    }


def test_coercion_leaves_the_arguments_given_alone() -> None:
    """The journal keeps what the model wrote."""
    arguments: dict[str, Any] = {"n": "5", "inner": {"b": "true"}}
    coerce_arguments(arguments, tool(n=INTEGER, inner=tool(b=BOOLEAN)))
    assert arguments == {"n": "5", "inner": {"b": "true"}}


def test_relaxing_leaves_the_schema_given_alone() -> None:
    """The strict schema is still needed for validation."""
    schema = tool(n=INTEGER, inner=tool(m=NUMBER))
    relax_schema(schema)
    assert schema == tool(n=INTEGER, inner=tool(m=NUMBER))


def test_nested_fields_are_relaxed_and_other_schemas_left() -> None:
    """Objects within objects, and alternatives; boolean schemas and texts stay."""
    schema = tool("o", o=tool("p", p=NUMBER), q=True, r=MAYBE, s={"type": ["string", "null"]})
    schema["properties"]["t"] = {"type": ["integer", "null"]}
    assert relax_schema(schema)["properties"] == {
        "o": tool("p", p={"type": ["number", "string"]}),
        "q": True,
        "r": {"anyOf": [{"type": ["integer", "string"]}, {"type": "null"}]},
        "s": {"type": ["string", "null"]},
        "t": {"type": ["integer", "null", "string"]},
    }


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)
keywords = st.sampled_from(["type", "properties", "items", "required", "anyOf", "$ref", "a"])
schemas = st.dictionaries(
    keywords, values | st.dictionaries(keywords, values) | st.sampled_from(["#/a", "integer"])
)


@given(st.dictionaries(st.text(max_size=3), values), schemas)
def test_no_schema_and_no_arguments_raise(arguments: Any, schema: Any) -> None:
    """Schemas come from servers and arguments from models: neither can be trusted."""
    coerce_arguments(arguments, schema)
    relax_schema(schema)


def test_alternatives_that_multiply_are_followed_only_so_far() -> None:
    """A server's schema may refer to itself as often as it likes."""
    again: dict[str, Any] = {"anyOf": [{"$ref": "#/$defs/a"}] * 1000}
    schema = {"$defs": {"a": again}, **tool(x={"$ref": "#/$defs/a"})}
    assert len([*_iter_branches(again, schema)]) == MAX_BRANCHES
    assert coerce_arguments({"x": "1", "y": ["2"] * 1000}, schema)["x"] == "1"
