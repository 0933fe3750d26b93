"""The fields of a form: which values a part of agents.json has, and how each is shown."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pydantic import JsonValue

from orchestrator.extensions.page.edit_forms import agents_schema
from orchestrator.extensions.page.edit_forms.agents_schema import ACCOUNTS, PartPath
from orchestrator.extensions.page.edit_forms.frequent_fields import FREQUENT_FIELDS, LONG_FIELDS
from thinker.protocol.messages import JsonObject

# A line, a text, a number, one of some values, yes or no, words one a line, lines NAME=value,
# parts with forms of their own, and everything else as JSON.
FieldKind: TypeAlias = Literal[
    "line", "text", "number", "choice", "switch", "words", "pairs", "parts", "json"
]
CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
SPELLED = {
    "usd": "US dollars",
    "url": "address",
    "env": "environment",
    "max": "most",
    "cwd": "folder",
}
DEEPEST = 2  # levels of parts whose fields stand in the same form


@dataclass(frozen=True)
class FormField:
    """A field for the value at ``path`` below the part.

    ``usual`` is the value where the file has none. A field is ``frequent``, or one of the rest.
    """

    path: tuple[str, ...]
    label: str
    kind: FieldKind
    help: str = ""
    choices: tuple[str, ...] = ()
    open: bool = False  # whether other values than the choices are possible
    usual: JsonValue = None
    required: bool = False
    frequent: bool = False

    @property
    def name(self) -> str:
        """The name of the control in the form."""
        return ".".join(("field", *self.path))


def list_form_fields(root: JsonObject, part: JsonObject, present: JsonValue) -> list[FormField]:
    """Return the fields of a part, the frequent ones first; ``present`` decides between kinds."""
    frequent = FREQUENT_FIELDS.get(str(part.get("title", "")), {})
    fields = list(_iter_fields(root, part, present, ()))
    order = list(frequent)
    known = {".".join(field.path): field for field in fields}
    first = [_make_frequent(known[name], frequent[name]) for name in order if name in known]
    return first + [field for name, field in known.items() if name not in frequent]


def _make_frequent(field: FormField, label: str) -> FormField:
    return FormField(**{**vars(field), "label": label, "frequent": True})


def _iter_fields(
    root: JsonObject, part: JsonObject, present: JsonValue, path: tuple[str, ...]
) -> Iterator[FormField]:
    required = part.get("required")
    needed = required if isinstance(required, list) else []
    properties = part.get("properties")
    for name, schema in (properties if isinstance(properties, dict) else {}).items():
        if not isinstance(schema, dict) or name == "$schema":
            continue
        here, value = (*path, name), agents_schema.find_value(present, (name,))
        shape = agents_schema.find_shape(root, schema)
        if _is_group(root, schema, value) and len(path) < DEEPEST:
            yield from _iter_fields(root, shape, value, here)
            continue
        choices = tuple(_iter_choices(root, schema))
        kind = _choose_kind(root, schema, name, value)
        yield FormField(
            path=here,
            label=make_label(here),
            kind=kind,
            help=str(schema.get("description", "")),
            choices=choices,
            open=bool(choices) and _takes_any_text(root, schema),
            usual=schema.get("default"),
            required=name in needed and not path,
        )


def _is_group(root: JsonObject, schema: JsonObject, value: JsonValue) -> bool:
    """Return whether the fields of a part stand in the form of the whole."""
    if "properties" not in agents_schema.find_shape(root, schema):
        return False
    others = [
        one
        for one in agents_schema.list_choices(schema)
        if "properties" not in agents_schema.find_shape(root, one)
    ]
    booleans = any(one.get("type") == "boolean" for one in others)
    return isinstance(value, dict) or (value is None and not booleans)


def _choose_kind(root: JsonObject, schema: JsonObject, name: str, value: JsonValue) -> FieldKind:
    shapes = [agents_schema.find_shape(root, one) for one in _list_alternatives(schema)]
    types = set(_iter_types(shapes))
    if any("enum" in one or "const" in one for one in shapes) and not isinstance(
        value, list | dict
    ):
        return "number" if isinstance(value, int | float) else "choice"
    if "boolean" in types and (value is None or isinstance(value, bool)):
        return "switch"
    if types & {"array", "object"}:
        return _choose_collection_kind(root, shapes, name, value)
    if types <= {"integer", "number"}:
        return "number"
    lines = isinstance(value, str) and "\n" in value  # which the control for a line would drop
    return "text" if lines or name in LONG_FIELDS else "line"


def _choose_collection_kind(
    root: JsonObject, shapes: list[JsonObject], name: str, value: JsonValue
) -> FieldKind:
    if name == ACCOUNTS or agents_schema.find_item_schema(root, shapes[0]) is not None:
        return "parts"
    if len(shapes) == 1 and _holds_words(shapes[0]) and (value is None or _is_word_list(value)):
        return "words"
    if len(shapes) == 1 and _holds_pairs(shapes[0]) and _is_pairs(value):
        return "pairs"
    return "json"


def _list_alternatives(schema: JsonObject) -> list[JsonObject]:
    return agents_schema.list_choices(schema) or [schema]


def _iter_types(shapes: list[JsonObject]) -> Iterator[str]:
    for shape in shapes:
        found = shape.get("type")
        yield from map(str, found if isinstance(found, list) else [found])


def _iter_choices(root: JsonObject, schema: JsonObject) -> Iterator[str]:
    for one in _list_alternatives(schema):
        shape = agents_schema.find_shape(root, one)
        values = shape.get("enum", [shape["const"]] if "const" in shape else [])
        if isinstance(values, list):
            yield from (value for value in values if isinstance(value, str))


def _takes_any_text(root: JsonObject, schema: JsonObject) -> bool:
    shapes = [agents_schema.find_shape(root, one) for one in _list_alternatives(schema)]
    return any(
        one.get("type") in ("string", "integer") and "enum" not in one and "const" not in one
        for one in shapes
    )


def _holds_words(shape: JsonObject) -> bool:
    items = shape.get("items")
    return isinstance(items, dict) and "properties" not in items


def _is_word_list(value: JsonValue) -> bool:
    return isinstance(value, list) and all(isinstance(one, str | int) for one in value)


def _holds_pairs(shape: JsonObject) -> bool:
    held = [shape.get("additionalProperties"), *_list_values(shape.get("patternProperties"))]
    return any(isinstance(one, dict) and {"string"} == {*_iter_types([one])} for one in held)


def _list_values(value: JsonValue) -> list[JsonValue]:
    return list(value.values()) if isinstance(value, dict) else []


def _is_pairs(value: JsonValue) -> bool:
    return value is None or all(isinstance(one, str) for one in _list_values(value) or [None])


def make_label(path: PartPath) -> str:
    """Return words for a key: ``maxSteps`` is `Max steps`."""
    words = ": ".join(_spell_key(str(part)) for part in path)
    return words[:1].upper() + words[1:]


def _spell_key(key: str) -> str:
    words = CAPITAL.sub(" ", key).replace("_", " ").lower().split()
    return " ".join(SPELLED.get(word, word) for word in words)
