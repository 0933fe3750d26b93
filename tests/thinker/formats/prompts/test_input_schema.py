"""A schema of inputs that no validator accepts is refused: it would check nothing."""

import pytest
from pydantic import JsonValue

from thinker.formats.prompts.definition import parse_definition
from thinker.formats.prompts.input_schema import find_schema_misuse

FIELDS = {"name": "p", "toolDescription": "d", "model": "inherit", "prompt": "x"}


@pytest.mark.parametrize(
    ("field", "problem"),
    [
        ({"type": "strin"}, "type 'strin' is unknown; use one of string, number, integer"),
        ({"type": ["string", "nil"]}, "type 'nil' is unknown"),
        ({"type": "string", "required": True}, "required must be a list of names, next to prop"),
        ({"type": "array", "items": {"enum": "a"}}, "items.enum must be a list of values"),
        ({"anyOf": [{}, {"minimum": "1"}]}, "anyOf[1].minimum must be a number"),
        ({"type": "string", "minLength": 1.5}, "minLength must be a whole number"),
        ({"type": "object", "properties": ["a"]}, "properties must be an object of fields"),
    ],
)
def test_wrong_keyword_is_refused_with_its_place(field: JsonValue, problem: str) -> None:
    """At any depth; `check` shows it with the file."""
    schema = {"type": "object", "properties": {"q": field}}
    definition, problems = parse_definition({**FIELDS, "requiredSchema": schema})
    assert definition is None
    assert str(problems[0]).startswith(f"requiredSchema: properties.q.{problem}")


def test_text_in_the_place_of_a_field_is_refused() -> None:
    """A short form of other languages."""
    said = "properties.q must be an object such as {type: string}"
    assert find_schema_misuse({"type": "object", "properties": {"q": "string"}}) == said


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"properties": {"type": {"type": "string"}, "required": True, "enum": {}}},
        {"properties": {"n": {"type": ["integer", "null"], "minimum": 1, "default": None}}},
        {"required": [], "properties": {"a": {"anyOf": [True, {"const": 1}]}}, "x-other": 3},
    ],
)
def test_valid_schema_is_left_alone(schema: JsonValue) -> None:
    """Fields may have the names of keywords, and keywords of others are not looked at."""
    assert find_schema_misuse(schema) is None
