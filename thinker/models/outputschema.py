"""JSON Schemas of answers in the strict form that providers enforce: closed objects only."""

from dataclasses import dataclass

from pydantic import JsonValue

from thinker.protocol.messages import JsonObject

NAMED = frozenset({"properties", "$defs", "definitions"})  # keywords that map names to schemas
KEPT = frozenset({"type", "required", "enum", "const", "$ref", "description", "title", "format"})
# Not all providers accept these; the worker checks answers against them itself.
LEFT_OUT = frozenset(
    {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "pattern"}
    | {"minLength", "maxLength", "minItems", "maxItems", "uniqueItems"}
    | {"default", "examples", "$schema", "$comment", "additionalProperties"}
)
SAYING_NOTHING = LEFT_OUT | {"title", "description"}


@dataclass(frozen=True)
class Closing:
    """One provider's rule for closed objects: whether they may have ``optional`` fields."""

    optional: bool

    def closed(self, schema: JsonObject) -> JsonObject | None:
        """Return the schema with every object closed to unnamed fields.

        A value that matches it also matches ``schema``, except for limits on numbers, texts and
        lists. None if the schema cannot be expressed this way: maps, values of any type,
        combinations.
        """
        try:
            closed = self._closed(schema)
        except ValueError:
            return None
        return closed if closed.get("type") == "object" else None

    def _closed(self, schema: JsonObject) -> JsonObject:
        if not schema.keys() - SAYING_NOTHING:
            raise ValueError("a value of any type")
        closed: JsonObject = {
            key: self._value(key, value) for key, value in schema.items() if key not in LEFT_OUT
        }
        kind, properties = closed.get("type"), closed.get("properties")
        if kind == "object" or (isinstance(kind, list) and "object" in kind) or properties:
            self._check(properties, closed.get("required", []))
            closed["additionalProperties"] = False
        return closed

    def _value(self, key: str, value: JsonValue) -> JsonValue:
        if key in NAMED and isinstance(value, dict):
            return {name: self._schema(inner) for name, inner in value.items()}
        if key == "anyOf" and isinstance(value, list):
            return [self._schema(inner) for inner in value]
        if key == "items":
            return self._schema(value)
        if key not in KEPT:
            raise ValueError(f"{key} is not supported")
        return value

    def _schema(self, schema: JsonValue) -> JsonValue:
        if not isinstance(schema, dict):
            raise ValueError("a value of any type or none")  # noqa: TRY004 - valid, but not supported
        return self._closed(schema)

    def _check(self, properties: JsonValue, required: JsonValue) -> None:
        if not (isinstance(properties, dict) and properties and isinstance(required, list)):
            raise ValueError("an object without names")
        names, needed = set(properties), set(map(str, required))
        if needed - names or (names - needed and not self.optional):
            raise ValueError("a field that is optional, or has no schema")
