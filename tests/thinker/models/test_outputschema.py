"""Schemas of answers in the form that providers enforce."""

from typing import Any

import pytest
from pydantic import BaseModel

from thinker.models.outputschema import Closing
from thinker.prompt.render.output_contract import output_model
from thinker.protocol.messages import JsonObject

STRICT, LENIENT = Closing(optional=False), Closing(optional=True)
NAME = {"type": "string"}


class Inner(BaseModel):
    """An object within another one."""

    name: str


class Outer(BaseModel):
    """One with a reference and a field that may be null."""

    inner: Inner
    note: str | None


def whole(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return an object whose fields are all required."""
    return {"type": "object", "properties": properties, "required": [*properties], **more}


def test_every_object_is_closed_however_deep_it_is() -> None:
    """In lists, alternatives and definitions; the closed schema only accepts less."""
    closed = STRICT.close_schema(Outer.model_json_schema())
    assert closed is not None
    assert closed["additionalProperties"] is False
    assert closed["$defs"]["Inner"]["additionalProperties"] is False  # type: ignore[index,call-overload] # JSON
    listed = STRICT.close_schema(whole({"a": {"type": "array", "items": whole({"b": NAME})}}))
    assert "additionalProperties': False}}}" in str(listed)


def test_limits_and_defaults_are_left_to_the_check() -> None:
    """No provider accepts all of them; a field may have such a name."""
    schema = whole({"pattern": {"type": "string", "minLength": 2, "pattern": "^a", "default": "a"}})
    assert STRICT.close_schema(schema) == whole({"pattern": NAME}, additionalProperties=False)


def test_optional_fields_are_one_providers_right() -> None:
    """For the other one the schema is not strict."""
    schema: JsonObject = {**whole({"a": NAME, "b": NAME}), "required": ["a"]}
    assert STRICT.close_schema(schema) is None
    assert LENIENT.close_schema(schema) == {**schema, "additionalProperties": False}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"type": "object", "additionalProperties": NAME},
        {"type": "array", "items": NAME},
        {"$ref": "#/$defs/A", "$defs": {"A": whole({"a": NAME})}},
        whole({"a": {}}),
        whole({"a": {"title": "A"}}),
        whole({"a": True}),
        whole({"a": {"allOf": [whole({"b": NAME}), whole({"c": NAME})]}}),
        whole({"a": {"type": ["object", "null"]}}),
        {"type": "object", "properties": {"a": NAME}, "required": ["a", "b"]},
    ],
    ids=str,
)
def test_what_cannot_be_said_closed_is_not_said(schema: dict[str, Any]) -> None:
    """Maps, root lists, values of any type, combinations, fields without a schema."""
    assert STRICT.close_schema(schema) is None
    assert LENIENT.close_schema(schema) is None


def test_output_grammar_is_said_closed() -> None:
    """Nested objects, lists and choices, as authors write them."""
    model = output_model({"n": (int, "a number"), "items": ([{"id": (str,)}], "all")})
    closed = STRICT.close_schema(model.model_json_schema())
    assert closed is not None
    assert str(closed).count("'additionalProperties': False") == 2
