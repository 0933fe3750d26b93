"""Make the schema of a tool plainer, rank by rank, for providers that refuse it.

Rank 0 is the schema as given, 1 JSON Schema without what providers refuse most often, 2 the subset
that Gemini takes, 3 an object of strings. No rank changes what the tool accepts: arguments are
checked against the schema as given.
"""

from typing import Literal, TypeAlias

import orjson
from pydantic import JsonValue

from thinker.protocol.messages import JsonObject

SchemaRank: TypeAlias = Literal[0, 1, 2, 3]
PLAINEST: SchemaRank = 3
MAX_PARTS = 2000  # schemas in one; the rest, and recursive ones, end as any object
COMBINED = ("anyOf", "oneOf", "allOf")
DROPPED = frozenset(
    {"$schema", "$id", "$comment", "$defs", "definitions", "$anchor", "not", "if", "then", "else"}
    | {"additionalProperties", "unevaluatedProperties", "patternProperties", "propertyNames"}
    | {"dependentRequired", "dependentSchemas", "contains", "examples", "strict"}
)
SHAPES: dict[str, type] = {
    "properties": dict,
    "enum": list,
    "description": str,
    "anyOf": list,
    "oneOf": list,
    "allOf": list,
}
# What OpenAI's and Gemini's subsets know, by providers.md; limits become words of the description.
SUBSET = frozenset(
    {"type", "description", "properties", "required", "items", "enum", "anyOf", "nullable"}
)
LIMITS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "pattern")
LENGTHS = ("format", "minLength", "maxLength", "minItems", "maxItems", "default", "const")
SAID = (*LIMITS, *LENGTHS)  # keywords that can be said in words


def lower_schema(schema: JsonObject, rank: int) -> JsonObject:
    """Return the schema of a tool's arguments at a rank from 0 to 3."""
    if rank <= 0:
        return schema
    cleaned = _Cleaner(schema).clean_root()
    if rank == 1:
        return cleaned
    return _take_subset(cleaned) if rank == 2 else _make_flat_object(cleaned)  # noqa: PLR2004 - a rank


class _Cleaner:
    """Removes references, combinations at the root and rare keywords from one schema."""

    def __init__(self, root: JsonObject) -> None:
        self._root = root
        self._parts = 0
        self._open: list[str] = []  # references that are being filled in

    def clean_root(self) -> JsonObject:
        found = self._clean(self._root)
        merged = _merge_combinations(found)
        merged.pop("enum", None)
        properties = merged.get("properties")
        return {**merged, "type": "object", "properties": properties or {}}

    def _clean(self, schema: JsonValue) -> JsonObject:
        self._parts += 1
        if not isinstance(schema, dict):
            return {}
        reference = str(schema.get("$ref", ""))
        if self._parts > MAX_PARTS or reference in self._open:
            return {"type": "object"}
        if reference:
            self._open.append(reference)
            found = self._clean(self._resolve(reference, schema))
            self._open.pop()
            return found
        return self._clean_plain(schema)

    def _clean_plain(self, schema: JsonObject) -> JsonObject:
        found: JsonObject = {}
        for key, value in schema.items():
            if key in DROPPED or not isinstance(value, SHAPES.get(key, object)):
                continue
            if key == "properties" and isinstance(value, dict):
                found[key] = {name: self._clean(inner) for name, inner in value.items()}
            elif key in COMBINED and isinstance(value, list):
                kept = [self._clean(inner) for inner in value]
                found["allOf" if key == "allOf" else "anyOf"] = [*kept]
            elif key in ("items", "prefixItems"):
                found["items"] = self._clean_items(schema)
            else:
                found[key] = value
        return _normalize(found)

    def _clean_items(self, schema: JsonObject) -> JsonObject:
        """Return one schema for all items; those of a tuple become alternatives."""
        items = schema.get("items")
        places = items if isinstance(items, list) else schema.get("prefixItems")
        if not isinstance(places, list):
            return self._clean(items) or {"type": "string"}
        kinds = [self._clean(place) for place in places]
        alike = [kind for at, kind in enumerate(kinds) if kind not in kinds[:at]]
        return alike[0] if len(alike) == 1 else {"anyOf": [*alike]}

    def _resolve(self, reference: str, schema: JsonObject) -> JsonObject:
        """Return the target of a reference in the same schema with the keywords beside it."""
        target: JsonValue = self._root
        for part in reference.removeprefix("#").strip("/").split("/"):
            name = part.replace("~1", "/").replace("~0", "~")
            target = target.get(name) if isinstance(target, dict) and name else target
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        return {**target, **beside} if isinstance(target, dict) else beside


def _normalize(schema: JsonObject) -> JsonObject:
    """Write constants as lists, types with null as one type, and leave out what is malformed."""
    found = _normalize_type(schema)
    if "anyOf" in found and found.get("type") != "object":
        found.pop("type", None)  # Moonshot takes it only in the branches
    if found.get("type") == "array":
        found.setdefault("items", {"type": "string"})
    names, required = found.get("properties"), found.pop("required", None)
    listed = required if isinstance(required, list) and isinstance(names, dict) else []
    known = names if isinstance(names, dict) else {}
    if kept := [name for name in listed if isinstance(name, str) and name in known]:
        found["required"] = [*kept]
    return found


def _normalize_type(schema: JsonObject) -> JsonObject:
    found = dict(schema)
    if "const" in found:
        found.setdefault("enum", [found.pop("const")])
        found.pop("const", None)
    kinds, values = found.pop("type", None), found.get("enum")
    if kinds is None and isinstance(values, list) and values:
        kinds = "integer" if all(type(value) is int for value in values) else "string"
    others = [kind for kind in kinds if kind != "null"] if isinstance(kinds, list) else [kinds]
    named: list[JsonValue] = [kind for kind in others if isinstance(kind, str)]
    if len(named) == 1:
        found["type"] = named[0]
    elif named:
        items = found.pop("items", {"type": "string"})
        found["anyOf"] = [
            {"type": kind, "items": items} if kind == "array" else {"type": kind} for kind in named
        ]
    if isinstance(kinds, list) and "null" in kinds:
        found["nullable"] = True
    return found


def _merge_combinations(schema: JsonObject) -> JsonObject:
    """Merge the alternatives of an object into one object with the properties of all."""
    found = {key: value for key, value in schema.items() if key not in COMBINED}
    properties = found.get("properties")
    united: JsonObject = dict(properties) if isinstance(properties, dict) else {}
    required = found.get("required")
    needed = [*required] if isinstance(required, list) else []
    for key in COMBINED:
        parts = schema.get(key)
        branches = (
            [_merge_combinations(part) for part in parts if isinstance(part, dict)]
            if (isinstance(parts, list))
            else []
        )
        musts: list[list[JsonValue]] = []
        for branch in branches:
            inner, must = branch.get("properties"), branch.get("required")
            for name, value in inner.items() if isinstance(inner, dict) else ():
                united[name] = _unite(united.get(name), value)
            musts.append(must if isinstance(must, list) else [])
        if musts and key == "allOf":
            needed += [name for must in musts for name in must if name not in needed]
        elif musts:
            shared = [name for name in musts[0] if all(name in must for must in musts)]
            needed += [name for name in shared if name not in needed]
    if united:
        found["properties"] = united
    if kept := [name for name in needed if name in united]:
        found["required"] = [*kept]
    return found


def _unite(one: JsonValue, other: JsonValue) -> JsonValue:
    """Return a schema for both; values that tell alternatives apart become one list."""
    if not isinstance(one, dict) or not isinstance(other, dict) or one == other:
        return other if one is None else one
    ours, theirs = one.get("enum"), other.get("enum")
    if isinstance(ours, list) and isinstance(theirs, list):
        return {**one, "enum": [*ours, *(value for value in theirs if value not in ours)]}
    return {"anyOf": [one, other]}


def _take_subset(schema: JsonObject) -> JsonObject:
    """Return a clean schema with the keywords of `SUBSET` only; others become words."""
    found = {key: value for key, value in schema.items() if key in SUBSET}
    words = [f"{key}: {_write(schema[key])}" for key in SAID if key in schema]
    if "allOf" in schema:
        found = {key: value for key, value in _merge_combinations(schema).items() if key in SUBSET}
    values, properties = found.get("enum"), found.get("properties")
    parts, items = found.get("anyOf"), found.get("items")
    if isinstance(values, list) and not all(isinstance(value, str) for value in values):
        del found["enum"]
        words.append("one of: " + ", ".join(map(_write, values)))
    if isinstance(properties, dict):
        found["properties"] = {
            name: _take_subset(inner) if isinstance(inner, dict) else {"type": "string"}
            for name, inner in properties.items()
        }
    if isinstance(parts, list):
        kept: list[JsonValue] = [_take_subset(part) for part in parts if isinstance(part, dict)]
        found["anyOf"] = kept
    if isinstance(items, dict):
        found["items"] = _take_subset(items)
    if not found.keys() & {"type", "anyOf"}:
        found["type"] = "object" if "properties" in found else "string"
    return _describe(found, words)


def _make_flat_object(schema: JsonObject) -> JsonObject:
    """Return an object of strings; what is not a string is asked for as JSON."""
    properties = schema.get("properties")
    found: JsonObject = {}
    for name, inner in properties.items() if isinstance(properties, dict) else ():
        given = inner if isinstance(inner, dict) else {}
        about = given.get("description")
        plain: JsonObject = {"type": "string", **({"description": about} if about else {})}
        simple = given.get("type") == "string" and not given.keys() - {"type", "description"}
        found[name] = plain if simple else _describe(plain, ["as JSON of: " + _write(given)])
    flat: JsonObject = {"type": "object", "properties": found}
    return {**flat, "required": schema["required"]} if schema.get("required") else flat


def _describe(schema: JsonObject, words: list[str]) -> JsonObject:
    if not words:
        return schema
    about = schema.get("description")
    return {**schema, "description": " ".join(filter(None, (str(about or ""), *words)))[:1000]}


def _write(value: JsonValue) -> str:
    return orjson.dumps(value).decode()
