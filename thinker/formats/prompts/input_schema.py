"""Find the mistakes in a JSON Schema that would make it check nothing."""

from collections.abc import Iterator

from pydantic import JsonValue

from thinker.protocol.messages import JsonObject

TYPES = ("string", "number", "integer", "boolean", "object", "array", "null")
FORMS: dict[str, tuple[type, str]] = {
    "properties": (dict, "an object of fields"),
    "required": (list, "a list of names, next to properties"),
    "enum": (list, "a list of values"),
    "description": (str, "text"),
    "pattern": (str, "text"),
    **dict.fromkeys(("minimum", "maximum", "multipleOf"), (float, "a number")),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), (int, "a whole number")),
    **dict.fromkeys(("anyOf", "oneOf", "allOf"), (list, "a list of schemas")),
}


def find_schema_misuse(schema: JsonValue, place: str = "") -> str | None:
    """Return a message about the first keyword with a wrong value, or None."""
    if isinstance(schema, bool):
        return None
    if not isinstance(schema, dict):
        return f"{place or 'it'} must be an object such as {{type: string}}"
    prefix = f"{place}." if place else ""
    kinds = schema.get("type", "object")
    if wrong := [k for k in (kinds if isinstance(kinds, list) else [kinds]) if k not in TYPES]:
        return f"{prefix}type {wrong[0]!r} is unknown; use one of {', '.join(TYPES)}"
    for keyword, (form, better) in FORMS.items():
        if keyword in schema and not _has_form(form, schema[keyword]):
            return f"{prefix}{keyword} must be {better}"
    return next(
        filter(None, (find_schema_misuse(*one) for one in _iter_inner_schemas(schema, prefix))),
        None,
    )


def _has_form(form: type, value: JsonValue) -> bool:
    if form is list:
        return isinstance(value, list)
    if isinstance(value, bool):
        return False
    return isinstance(value, form) or (form is float and isinstance(value, int))


def _iter_inner_schemas(schema: JsonObject, prefix: str) -> Iterator[tuple[JsonValue, str]]:
    """Yield the inner schemas of a schema, with their places."""
    fields = schema.get("properties")
    for name, field in (fields if isinstance(fields, dict) else {}).items():
        yield field, f"{prefix}properties.{name}"
    if "items" in schema:
        yield schema["items"], f"{prefix}items"
    for keyword in ("anyOf", "oneOf", "allOf"):
        branches = schema.get(keyword)
        for number, branch in enumerate(branches if isinstance(branches, list) else []):
            yield branch, f"{prefix}{keyword}[{number}]"
