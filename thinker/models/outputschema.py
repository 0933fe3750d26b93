"""JSON Schemas of answers in the strict form that providers enforce: closed objects only."""

from dataclasses import dataclass

from pydantic import JsonValue

from thinker.protocol.messages import JsonObject

NAMED = frozenset({"properties", "$defs", "definitions"})  # keywords that map names to schemas
KEPT_KEYWORDS = frozenset(
    {"type", "required", "enum", "const", "$ref", "description", "title", "format"}
)
# Not all providers accept these; the worker checks answers against them itself.
LEFT_OUT = frozenset(
    {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "pattern"}
    | {"minLength", "maxLength", "minItems", "maxItems", "uniqueItems"}
    | {"default", "examples", "$schema", "$comment", "additionalProperties"}
)
SAYING_NOTHING = LEFT_OUT | {"title", "description"}


@dataclass(frozen=True)
class Closing:
    """One provider's rule for closed objects: whether fields may be ``optional``."""

    optional: bool

    def close_schema(self, schema: JsonObject) -> JsonObject | None:
        """Return the schema with every object closed to unnamed fields.

        A value that matches the result also matches ``schema``, except for limits on numbers,
        strings and lists. Return None if the schema cannot be expressed this way: maps, values of
        any type, combinations.
        """
        try:
            closed = self._close_object(schema)
        except ValueError:
            return None
        return closed if closed.get("type") == "object" else None

    def _close_object(self, schema: JsonObject) -> JsonObject:
        if not schema.keys() - SAYING_NOTHING:
            raise ValueError("a value of any type")
        closed: JsonObject = {
            key: self._close_value(key, value)
            for key, value in schema.items()
            if key not in LEFT_OUT
        }
        kind, properties = closed.get("type"), closed.get("properties")
        if kind == "object" or (isinstance(kind, list) and "object" in kind) or properties:
            self._require_closed_fields(properties, closed.get("required", []))
            closed["additionalProperties"] = False
        return closed

    def _close_value(self, key: str, value: JsonValue) -> JsonValue:
        if key in NAMED and isinstance(value, dict):
            return {name: self._close_subschema(inner) for name, inner in value.items()}
        if key == "anyOf" and isinstance(value, list):
            return [self._close_subschema(inner) for inner in value]
        if key == "items":
            return self._close_subschema(value)
        if key not in KEPT_KEYWORDS:
            raise ValueError(f"{key} is not supported")
        return value

    def _close_subschema(self, schema: JsonValue) -> JsonValue:
        if not isinstance(schema, dict):
            raise ValueError("a value of any type or none")  # noqa: TRY004 - valid, but not supported
        return self._close_object(schema)

    def _require_closed_fields(self, properties: JsonValue, required: JsonValue) -> None:
        if not (isinstance(properties, dict) and properties and isinstance(required, list)):
            raise ValueError("an object without names")
        names, needed = set(properties), set(map(str, required))
        if needed - names or (names - needed and not self.optional):
            raise ValueError("a field that is optional, or has no schema")
