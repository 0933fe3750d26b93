"""Make the schema of a tool plainer, rank by rank, for providers that refuse it.

Rank 0 is the schema as given, 1 JSON Schema without what providers refuse most often, 2 the subset
that Gemini takes, 3 an object of strings. No rank changes what the tool accepts: arguments are
checked against the schema as given.
"""

from typing import Any, TypeAlias

import orjson

from thinker.protocol.messages import JsonObject

Schema: TypeAlias = dict[str, Any]
PLAINEST = 3
MAX_PARTS = 2000  # schemas in one; the rest, and recursive ones, end as any object
COMBINED = ("anyOf", "oneOf", "allOf")
DROPPED = frozenset(
    {"$schema", "$id", "$comment", "$defs", "definitions", "$anchor", "not", "if", "then", "else"}
    | {"additionalProperties", "unevaluatedProperties", "patternProperties", "propertyNames"}
    | {"dependentRequired", "dependentSchemas", "contains", "examples", "strict"}
)
SHAPES: dict[str, Any] = {"properties": dict, "description": str, "enum": list}
SHAPES |= dict.fromkeys(COMBINED, list)
NULL: Schema = {"nullable": True}  # a schema of null alone
# What Gemini's subset has; other limits become words of the description.
SUBSET = ("type", "description", "properties", "required", "items", "enum", "anyOf", "nullable")
SAID = (
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "pattern"),
    *("format", "minLength", "maxLength", "minItems", "maxItems", "default"),
)


def lower_schema(schema: JsonObject, rank: int) -> JsonObject:
    """Return the schema of a tool's arguments at a rank from 0 to `PLAINEST`."""
    if rank <= 0:
        return schema
    cleaned = _Cleaner(schema).clean_root()
    if rank == 1:
        return cleaned
    return _make_flat_object(cleaned) if rank == PLAINEST else _take_subset(cleaned)


class _Cleaner:
    """Removes references, combinations at the root and rare keywords from one schema."""

    def __init__(self, root: JsonObject) -> None:
        self._root = root
        self._parts = 0
        self._open: list[str] = []  # references that are being filled in

    def clean_root(self) -> Schema:
        found = _merge_combinations(self._clean(self._root))
        found.pop("enum", None)
        return {**found, "type": "object", "properties": found.get("properties", {})}

    def _clean(self, schema: object) -> Schema:
        self._parts += 1
        if not isinstance(schema, dict):
            return {}
        reference = str(schema.get("$ref", ""))
        if self._parts > MAX_PARTS or reference in self._open:
            return {"type": "object"}
        if not reference:
            return self._clean_plain(schema)
        self._open.append(reference)
        found = self._clean({**self._resolve(reference), **schema, "$ref": ""})
        self._open.pop()
        return found

    def _clean_plain(self, schema: Schema) -> Schema:
        found: Schema = {}
        for key, value in schema.items():
            if key in DROPPED or key == "$ref" or not isinstance(value, SHAPES.get(key, object)):
                continue
            if key == "properties":
                found[key] = {name: self._clean(inner) for name, inner in value.items()}
            elif key in COMBINED:
                found[key if key == "allOf" else "anyOf"] = [self._clean(one) for one in value]
            elif key in ("items", "prefixItems"):
                found["items"] = self._clean_items(schema)
            else:
                found[key] = value
        return _normalize(found)

    def _clean_items(self, schema: Schema) -> Schema:
        """Return one schema for all items; those of a tuple become alternatives."""
        items = schema.get("items")
        places = items if isinstance(items, list) else schema.get("prefixItems")
        if not isinstance(places, list):
            return self._clean(items) or {"type": "string"}
        kinds = [self._clean(place) for place in places]
        alike = [kind for at, kind in enumerate(kinds) if kind not in kinds[:at]]
        return alike[0] if len(alike) == 1 else {"anyOf": alike}

    def _resolve(self, reference: str) -> Schema:
        """Return the target of a reference in the same schema; empty for others."""
        target: Any = self._root
        for part in reference.removeprefix("#").strip("/").split("/"):
            name = part.replace("~1", "/").replace("~0", "~")
            target = target.get(name) if isinstance(target, dict) and name else target
        return target if isinstance(target, dict) else {}


def _normalize(schema: Schema) -> Schema:
    """Write constants as lists, types with null as one type, and leave out what is malformed."""
    found = dict(schema)
    constant = [found.pop("const")] if "const" in found else None
    values = found.setdefault("enum", constant) if constant else found.get("enum")
    kinds = found.pop("type", None)
    if kinds is None and values:
        kinds = "integer" if all(type(value) is int for value in values) else "string"
    kinds = kinds if isinstance(kinds, list) else [kinds]
    named = [kind for kind in kinds if isinstance(kind, str) and kind != "null"]
    if "array" in named:
        found.setdefault("items", {"type": "string"})
    if len(named) == 1 and ("anyOf" not in found or named == ["object"]):
        found["type"] = named[0]  # Moonshot takes it only in the branches
    elif len(named) > 1:
        items = {"items": found.pop("items", {})}
        found["anyOf"] = [{"type": kind} | (items if kind == "array" else {}) for kind in named]
    if "null" in kinds:
        found["nullable"] = True
    required = found.pop("required", None)
    return _require_known(_fold_null(found), required)


def _fold_null(schema: Schema) -> Schema:
    """Write null among alternatives as one word of the others."""
    rest = [part for part in schema.get("anyOf", ()) if part != NULL]
    if not rest or len(rest) == len(schema["anyOf"]):
        return schema
    beside = {key: value for key, value in schema.items() if key != "anyOf"}
    return {**(rest[0] if len(rest) == 1 else {"anyOf": rest}), **beside, **NULL}


def _require_known(schema: Schema, required: object) -> Schema:
    """Return the schema with those required properties that it has."""
    listed, names = required if isinstance(required, list) else [], schema.get("properties", {})
    kept = [name for name in listed if isinstance(name, str) and name in names]
    return {**schema, "required": list(dict.fromkeys(kept))} if kept else schema


def _merge_combinations(schema: Schema) -> Schema:
    """Merge the alternatives of an object into one object with the properties of all."""
    found = {key: value for key, value in schema.items() if key not in COMBINED}
    united, needed = dict(found.get("properties", {})), list(found.pop("required", ()))
    for key in COMBINED:
        branches = [_merge_combinations(part) for part in schema.get(key, ())]
        for branch in branches:
            for name, value in branch.get("properties", {}).items():
                united[name] = _unite(united[name], value) if name in united else value
        musts = [branch.get("required", []) for branch in branches]
        every = key == "allOf"
        needed += [
            name for must in musts for name in must if every or all(name in one for one in musts)
        ]
    return _require_known({**found, "properties": united} if united else found, needed)


def _unite(one: Schema, other: Schema) -> Schema:
    """Return a schema for both; values that tell alternatives apart become one list."""
    if "enum" in one and "enum" in other:
        values = [*one["enum"], *(value for value in other["enum"] if value not in one["enum"])]
        return {**one, "enum": values}
    return one if one == other else {"anyOf": [one, other]}


def _take_subset(schema: Schema) -> Schema:
    """Return a clean schema with the keywords of `SUBSET` only; others become words."""
    words = [f"{key}: {_write(schema[key])}" for key in SAID if key in schema]
    merged = _merge_combinations(schema) if "allOf" in schema else schema
    found = {key: value for key, value in merged.items() if key in SUBSET}
    if not all(isinstance(value, str) for value in found.get("enum", ())):
        words.append("one of: " + ", ".join(map(_write, found.pop("enum"))))
    if "properties" in found:
        properties = found["properties"].items()
        found["properties"] = {name: _take_subset(inner) for name, inner in properties}
    if "anyOf" in found:
        found["anyOf"] = [_take_subset(part) for part in found["anyOf"]]
    if "items" in found:
        found["items"] = _take_subset(found["items"])
    if not found.keys() & {"type", "anyOf"}:
        found["type"] = "object" if "properties" in found else "string"
    return _describe(found, words)


def _make_flat_object(schema: Schema) -> Schema:
    """Return an object of strings; what is not a string is asked for as JSON."""
    found: Schema = {}
    for name, given in schema["properties"].items():
        plain = {"type": "string"} | {key: given[key] for key in ("description",) if key in given}
        found[name] = (
            plain if plain == given else _describe(plain, [f"as JSON of: {_write(given)}"])
        )
    return _require_known({"type": "object", "properties": found}, schema.get("required"))


def _describe(schema: Schema, words: list[str]) -> Schema:
    about = " ".join(filter(None, (schema.get("description"), *words)))
    return {**schema, "description": about[:1000]} if words else schema


def _write(value: object) -> str:
    return orjson.dumps(value).decode()
