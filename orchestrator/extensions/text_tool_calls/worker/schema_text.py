"""Describe JSON Schemas in plain text: parameter lines and an example."""

import json
import re
from decimal import Decimal

from pydantic import JsonValue

from thinker.protocol.messages import JsonObject
from thinker.toolcalls.arguments import find_properties, list_required_fields

EXAMPLE = "example"  # stands for any string
LARGEST_WHOLE = 1e21  # JavaScript writes numbers from here on with an exponent
SMALL_EXPONENT = -6  # and numbers below 1e-6
STRING_OR_SMALL = re.compile(r'"(?:[^"\\]|\\.)*+"|-?[\d.]++e-\d+')


def dump_compact_json(value: JsonValue) -> str:
    """Encode JSON as ``JSON.stringify`` does: no blanks, text unescaped, 1.0 as 1."""
    text = json.dumps(_convert_whole_floats(value), ensure_ascii=False, separators=(",", ":"))
    return STRING_OR_SMALL.sub(_format_small, text) if "e-" in text else text


def format_parameters(parameters: JsonObject) -> list[str]:
    """Return one line per parameter; a schema other than an object is one line of JSON."""
    schema = _select_branch(parameters)
    if schema and _describe_type(schema) != "object":
        return [f"- (schema) {dump_compact_json(schema)}"]
    names = list_required_fields(schema)
    return [
        _format_parameter(name, _select_branch(field), needed=name in names)
        for name, field in find_properties(schema).items()
    ] or ["- (no parameters)"]


def build_example(schema: JsonValue) -> JsonValue:
    """Return an example from default, example, examples, const or enum, or by type."""
    if not isinstance(schema, dict):
        return EXAMPLE
    for key in ("default", "example"):
        if key in schema:
            return schema[key]
    examples, options = schema.get("examples"), schema.get("enum")
    if isinstance(examples, list) and examples:
        return examples[0]
    if "const" in schema:
        return schema["const"]
    if isinstance(options, list) and options:
        return options[0]
    chosen = _select_branch(schema)
    return _build_example_by_type(chosen) if chosen is schema else build_example(chosen)


def _build_example_by_type(schema: JsonObject) -> JsonValue:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((item for item in kind if item != "null"), "null")
    match kind or _describe_type(schema):
        case "array":
            return [build_example(schema.get("items"))]
        case "object":
            return {name: build_example(field) for name, field in find_properties(schema).items()}
        case "integer" | "number":
            return 0
        case "boolean":
            return False
        case "null":
            return None
    return EXAMPLE


def _format_parameter(name: str, schema: JsonObject, *, needed: bool) -> str:
    description = schema.get("description")
    text = description.strip() if isinstance(description, str) else ""
    need = "required" if needed else "optional"
    return f"- {name} ({need}, {_describe_type(schema)})" + (f": {text}" if text else "")


def _describe_type(schema: JsonObject) -> str:
    kind = schema.get("type")
    if isinstance(kind, str) and kind:
        return kind
    if isinstance(kind, list) and kind:
        return "|".join(str(item) for item in kind)
    if "properties" in schema:
        return "object"
    return "array" if "items" in schema else "unknown"


def _select_branch(schema: JsonValue) -> JsonObject:
    """Return the first alternative of a schema made of alternatives, otherwise the schema."""
    if not isinstance(schema, dict):
        return {}
    if "properties" in schema:
        return schema
    for keyword in ("oneOf", "anyOf", "allOf"):
        alternatives = schema.get(keyword)
        if isinstance(alternatives, list) and alternatives:
            first = alternatives[0]
            return first if isinstance(first, dict) else {}
    return schema


def _convert_whole_floats(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {key: _convert_whole_floats(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_convert_whole_floats(item) for item in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < LARGEST_WHOLE:
        return int(Decimal(repr(value)))
    return value


def _format_small(match: re.Match[str]) -> str:
    """Return a string unchanged, 1e-05 as 0.00001 and 1e-07 as 1e-7."""
    text = match[0]
    if text.startswith('"'):
        return text
    number = Decimal(text)
    return f"{number:f}" if number.adjusted() >= SMALL_EXPONENT else text.replace("e-0", "e-")
