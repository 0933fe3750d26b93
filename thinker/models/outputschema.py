"""The schema of an answer as providers hold a model to it: every object named and closed."""

from dataclasses import dataclass

from pydantic import JsonValue

from thinker.protocol.messages import JsonObject

NAMED = frozenset({"properties", "$defs", "definitions"})  # schemas by name
KEPT = frozenset({"type", "required", "enum", "const", "$ref", "description", "title", "format"})
# No provider takes all of these. An answer is checked against them here.
LEFT_OUT = frozenset(
    {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "pattern"}
    | {"minLength", "maxLength", "minItems", "maxItems", "uniqueItems"}
    | {"default", "examples", "$schema", "$comment", "additionalProperties"}
)
SAYING_NOTHING = LEFT_OUT | {"title", "description"}


@dataclass(frozen=True)
class Closing:
    """One provider's rule: whether a closed object may have ``optional`` fields."""

    optional: bool

    def closed(self, schema: JsonObject) -> JsonObject | None:
        """The schema with no object that takes fields without a name.

        Whatever fits it fits the schema that was given, but for limits of numbers, texts and
        lists. None when it cannot be said so: maps, values of any type, combinations.
        """
        try:
            told = self._closed(schema)
        except ValueError:
            return None
        return told if told.get("type") == "object" else None

    def _closed(self, schema: JsonObject) -> JsonObject:
        if not schema.keys() - SAYING_NOTHING:
            raise ValueError("a value of any type")
        told: JsonObject = {
            key: self._value(key, value) for key, value in schema.items() if key not in LEFT_OUT
        }
        kind, properties = told.get("type"), told.get("properties")
        if kind == "object" or (isinstance(kind, list) and "object" in kind) or properties:
            self._check(properties, told.get("required", []))
            told["additionalProperties"] = False
        return told

    def _value(self, key: str, value: JsonValue) -> JsonValue:
        if key in NAMED and isinstance(value, dict):
            return {name: self._schema(inner) for name, inner in value.items()}
        if key == "anyOf" and isinstance(value, list):
            return [self._schema(inner) for inner in value]
        if key == "items":
            return self._schema(value)
        if key not in KEPT:
            raise ValueError(f"{key} is not taken")
        return value

    def _schema(self, schema: JsonValue) -> JsonValue:
        if not isinstance(schema, dict):
            raise ValueError("a value of any type or none")  # noqa: TRY004 - it is valid, not taken
        return self._closed(schema)

    def _check(self, properties: JsonValue, required: JsonValue) -> None:
        if not (isinstance(properties, dict) and properties and isinstance(required, list)):
            raise ValueError("an object without names")
        names, needed = set(properties), set(map(str, required))
        if needed - names or (names - needed and not self.optional):
            raise ValueError("a field that is optional, or has no schema")
