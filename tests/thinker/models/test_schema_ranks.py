"""Schemas of tools, made plainer rank by rank."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinker.models.schema_ranks import PLAINEST, lower_schema
from thinker.protocol.messages import JsonObject

TEXT: JsonObject = {"type": "string"}
INTEGER: JsonObject = {"type": "integer"}
UNION: JsonObject = {
    "type": "object",
    "properties": {"id": TEXT},
    "anyOf": [
        {"properties": {"kind": {"const": "a"}, "x": TEXT}, "required": ["kind", "x"]},
        {"properties": {"kind": {"const": "b"}}, "required": ["kind"]},
    ],
}
KEYWORDS = ("type", "properties", "items", "anyOf", "allOf", "$ref", "enum", "required", "const")
VALUES = st.none() | st.booleans() | st.integers() | st.sampled_from(("object", "string", "#/a"))
SCHEMAS = st.recursive(
    VALUES | st.lists(VALUES, max_size=2),
    lambda inner: (
        st.dictionaries(st.sampled_from(KEYWORDS), inner, max_size=4)
        | st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(("a", "type")), inner)
    ),
)


def list_keywords(schema: Any) -> set[str]:
    """Return every key of a schema that is not a property's name."""
    if isinstance(schema, list):
        return set[str]().union(*map(list_keywords, schema))
    if not isinstance(schema, dict):
        return set()
    found = set(schema)
    for key, value in schema.items():
        inner = value.values() if key == "properties" and isinstance(value, dict) else [value]
        found = found.union(*map(list_keywords, inner))
    return found


def test_rank_nought_is_the_schema_as_given() -> None:
    """Nothing is copied."""
    assert lower_schema(UNION, 0) is UNION


def test_alternatives_of_the_whole_become_one_object() -> None:
    """Properties are united, what all require stays required, constants become a list."""
    assert lower_schema(UNION, 1) == {
        "type": "object",
        "properties": {
            "id": TEXT,
            "kind": {"enum": ["a", "b"], "type": "string"},
            "x": TEXT,
        },
        "required": ["kind"],
    }


def test_references_are_filled_in_and_recursive_ones_end() -> None:
    """The result has no reference, and the definitions are gone."""
    node: JsonObject = {"type": "object", "properties": {"next": {"$ref": "#/$defs/N"}}}
    schema: JsonObject = {"type": "object", "properties": {"n": {"$ref": "#/$defs/N"}}}
    assert lower_schema({**schema, "$defs": {"N": node}}, 1) == {
        "type": "object",
        "properties": {"n": {"type": "object", "properties": {"next": {"type": "object"}}}},
    }


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        ({"type": ["integer", "null"]}, {"type": "integer", "nullable": True}),
        ({"type": "array"}, {"type": "array", "items": TEXT}),
        ({"oneOf": [TEXT, {"type": "null"}]}, {"type": "string", "nullable": True}),
        ({"oneOf": [TEXT, INTEGER]}, {"anyOf": [TEXT, INTEGER]}),
        ({"type": "string", "anyOf": [TEXT]}, {"anyOf": [TEXT]}),
        ({"type": "array", "items": [TEXT, TEXT]}, {"type": "array", "items": TEXT}),
        ({"type": "array", "prefixItems": [TEXT]}, {"type": "array", "items": TEXT}),
        ({"enum": [1, 2]}, {"enum": [1, 2], "type": "integer"}),
        ({"type": "object", "additionalProperties": False}, {"type": "object"}),
    ],
)
def test_a_clean_property_has_what_most_providers_take(given: Any, plain: Any) -> None:
    """Tuples, several types, alternatives and open objects."""
    schema: JsonObject = {"type": "object", "properties": {"p": given}, "required": ["p", "gone"]}
    found = lower_schema(schema, 1)
    assert found == {"type": "object", "properties": {"p": plain}, "required": ["p"]}


def test_limits_become_words_in_the_subset() -> None:
    """Gemini knows neither patterns nor lists of numbers."""
    number: JsonObject = {"type": "integer", "minimum": 3, "description": "How many."}
    schema: JsonObject = {
        "type": "object",
        "properties": {"n": number, "e": {"enum": [1, 2]}, "p": {"type": "string", "pattern": "a"}},
    }
    assert lower_schema(schema, 2)["properties"] == {
        "n": {"type": "integer", "description": "How many. minimum: 3"},
        "e": {"type": "integer", "description": "one of: 1, 2"},
        "p": {"type": "string", "description": 'pattern: "a"'},
    }


def test_the_plainest_schema_has_strings_alone() -> None:
    """What is not a string is asked for as JSON."""
    schema: JsonObject = {"type": "object", "properties": {"a": TEXT, "n": {"type": "integer"}}}
    assert lower_schema(schema, PLAINEST) == {
        "type": "object",
        "properties": {
            "a": TEXT,
            "n": {"type": "string", "description": 'as JSON of: {"type":"integer"}'},
        },
    }


def test_many_references_to_each_other_do_not_multiply() -> None:
    """Twelve kinds that all contain all others are cut."""
    names = [f"N{number}" for number in range(12)]
    kinds: JsonObject = {
        name: {
            "type": "object",
            "properties": {other: {"$ref": f"#/$defs/{other}"} for other in names},
        }
        for name in names
    }
    schema: JsonObject = {
        "$defs": kinds,
        "type": "object",
        "properties": {"n": {"$ref": "#/$defs/N0"}},
    }
    assert len(str(lower_schema(schema, 2))) < 200_000


@given(st.dictionaries(st.sampled_from((*KEYWORDS, "$defs")), SCHEMAS, max_size=5))
def test_any_json_becomes_an_object_of_the_subset(schema: Any) -> None:
    """Servers send what they like as schemas; no rank fails."""
    for rank in range(1, PLAINEST + 1):
        found = lower_schema(schema, rank)
        assert found["type"] == "object"
        if rank > 1:
            kept = {"type", "description", "properties", "required", "items", "enum", "anyOf"}
            assert list_keywords(found) - kept <= {"nullable"}
