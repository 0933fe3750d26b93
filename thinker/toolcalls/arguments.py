"""Tool arguments: relax schemas for models, and coerce what models write."""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

import orjson
from pydantic import JsonValue

from thinker.protocol.messages import JsonObject, ToolSpec, is_too_deep

MAX_HOPS = 8  # chained references; real schemas need one
MAX_BRANCHES = 32  # schemas that one value is compared with; real ones have a few
MAX_REFERENCE = 500  # characters
WHOLE = re.compile(r"[-+]?\d{1,18}")
DECIMAL = re.compile(r"[-+]?\d{1,18}(\.\d{1,18})?([eE][-+]?\d{1,2})?")


@lru_cache(maxsize=4)
def relax_tools(tools: tuple[ToolSpec, ...]) -> tuple[ToolSpec, ...]:
    return tuple(
        tool.model_copy(update={"parameters": relax_schema(tool.parameters)}) for tool in tools
    )


def relax_schema(schema: JsonObject, *, optional: bool = False) -> JsonObject:
    """Return a schema that also accepts numbers and booleans as text, and null if ``optional``.

    Some providers check arguments against the schema and reject the whole answer, while weaker
    models write ``"5"`` for 5 and null for an absent field. `coerce_arguments` converts such values
    afterwards.
    """
    relaxed = dict(schema)
    kind = relaxed.get("type")
    kinds: list[JsonValue] = kind if isinstance(kind, list) else [kind]
    if "string" not in kinds and any(name in kinds for name in ("number", "integer", "boolean")):
        relaxed["type"] = [*kinds, "string"]
    alternatives = relaxed.get("anyOf")
    if isinstance(alternatives, list):
        relaxed["anyOf"] = [
            relax_schema(one) if isinstance(one, dict) else one for one in alternatives
        ]
    if fields := find_properties(schema):
        names = list_required_fields(schema)
        relaxed["properties"] = {
            name: relax_schema(field, optional=name not in names)
            if isinstance(field, dict)
            else field
            for name, field in fields.items()
        }
    items = relaxed.get("items")
    if isinstance(items, dict):
        relaxed["items"] = relax_schema(items)
    kind = relaxed.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    if optional and kind is not None and "null" not in kinds:
        relaxed["type"] = [*kinds, "null"]
    return relaxed


def coerce_arguments(arguments: JsonObject, schema: JsonObject) -> JsonObject:
    """Return the arguments with strings converted to the types of the schema, where unambiguous.

    ``"5"`` becomes 5 if the schema wants a number and does not allow a string; ``"true"`` likewise.
    A null for an optional field that does not accept null is left out, and so is an empty string
    for a field that accepts no string: weak models fill every field.
    """
    return _coerce_object(arguments, schema, schema)


def find_properties(schema: JsonObject) -> JsonObject:
    """Return the fields of an object's schema; empty if the schema lists none."""
    found = schema.get("properties")
    return found if isinstance(found, dict) else {}


def list_required_fields(schema: JsonObject) -> list[JsonValue]:
    """Return the names of the fields that an object must have."""
    found = schema.get("required")
    return found if isinstance(found, list) else []


def _coerce_object(value: JsonObject, schema: JsonObject, root: JsonObject) -> JsonObject:
    fields: JsonObject = {}
    needed: list[JsonValue] = []
    for branch in _iter_branches(schema, root):
        fields |= find_properties(branch)
        needed += list_required_fields(branch)
    return {
        name: _coerce_value(item, fields.get(name), root)
        for name, item in value.items()
        if name in needed or not _is_left_blank(item, fields.get(name), root)
    }


def _coerce_value(value: JsonValue, schema: JsonValue, root: JsonObject) -> JsonValue:
    if not isinstance(schema, dict):
        return value
    if isinstance(value, str):
        return _convert_text(value, _list_types(schema, root))
    if isinstance(value, dict):
        return _coerce_object(value, schema, root)
    if isinstance(value, list):
        items = next((b["items"] for b in _iter_branches(schema, root) if "items" in b), None)
        types = _list_types(items, root) if isinstance(items, dict) else {"string"}
        return [
            _convert_text(item, types)
            if isinstance(item, str)
            else _coerce_value(item, items, root)
            for item in value
        ]
    return value


def _convert_text(text: str, types: set[str]) -> JsonValue:
    """Return a string converted to the type that the schema wants, unless that is a string."""
    word = text.strip()
    if "string" in types:
        return text
    if "boolean" in types and word.lower() in ("true", "false"):
        return word.lower() == "true"
    if types & {"integer", "number"} and WHOLE.fullmatch(word):
        return int(word)
    if "number" in types and DECIMAL.fullmatch(word):
        return float(word)
    if types & {"object", "array"} and word[:1] in ("{", "["):
        return _parse_json(word, text)
    return text


def _parse_json(word: str, text: str) -> JsonValue:
    """Return what JSON in a string says, as some models write objects; other text as it is."""
    try:
        value: JsonValue = orjson.loads(word)
    except ValueError:
        return text
    return text if is_too_deep(value) else value


def _is_left_blank(value: JsonValue, schema: JsonValue, root: JsonObject) -> bool:
    """Return whether a value is null or an empty string where the schema does not allow that."""
    empty = value is None or (isinstance(value, str) and not value.strip())
    if not empty or not isinstance(schema, dict):
        return False
    types = _list_types(schema, root)
    return bool(types) and ("null" if value is None else "string") not in types


def _list_types(schema: JsonObject, root: JsonObject) -> set[str]:
    kinds: list[JsonValue] = []
    for branch in _iter_branches(schema, root):
        kind = branch.get("type")
        kinds += kind if isinstance(kind, list) else [kind]
    return {kind for kind in kinds if isinstance(kind, str)}


def _iter_branches(schema: JsonObject, root: JsonObject) -> Iterator[JsonObject]:
    """Yield the schema, the schemas it refers to, and its alternatives."""
    return islice(_iter_nested(schema, root), MAX_BRANCHES)


def _iter_nested(
    schema: JsonObject, root: JsonObject, hops: int = MAX_HOPS
) -> Iterator[JsonObject]:
    yield schema
    if hops == 0:
        return
    nested: list[JsonValue] = [_resolve_reference(schema.get("$ref"), root)]
    for keyword in ("anyOf", "oneOf", "allOf"):
        alternatives = schema.get(keyword)
        nested += alternatives if isinstance(alternatives, list) else []
    for branch in nested:
        if isinstance(branch, dict):
            yield from _iter_nested(branch, root, hops - 1)


def _resolve_reference(reference: JsonValue, root: JsonObject) -> JsonValue:
    """Return the target of a reference within the document; None for other references."""
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return None
    if len(reference) > MAX_REFERENCE:
        return None
    found: JsonValue = root
    for key in reference[2:].split("/"):
        found = found.get(key) if isinstance(found, dict) else None
    return found
