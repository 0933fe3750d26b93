"""Build the output model as Agently 4.0.7 does: every field optional, list items cast one by one.

Agents use the rules of ``output_contract`` instead.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, cast, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, create_model

from thinker.formats.prompts.plain import is_type, to_plain_data


def build_upstream_model(name: str, schema: Mapping[str, object]) -> type[BaseModel]:
    return _build_model(name, cast(Mapping[str, object], to_plain_data(schema, keep_types=True)))


def _build_model(name: str, schema: Mapping[str, object]) -> type[BaseModel]:
    fields: dict[str, Any] = {}
    for key, value in schema.items():
        kind, default, description = _build_field(f"{name}_{key.capitalize()}", value)
        fields[key] = (kind, Field(default, description=description))
    return create_model(name, __config__=ConfigDict(extra="allow"), **fields)


def _build_field(name: str, value: object) -> tuple[Any, object, str | None]:
    """Return type, default and description of a field."""
    if isinstance(value, tuple):
        kind, description, default = (*value, *(Any, "", None)[len(value) :])[:3]
        if is_type(kind):
            items = get_args(kind)[0] if get_origin(kind) is list else None
            return (_wrap_with_cast(kind, items) if items else kind), default, str(description)
        return Any, default, f"type: {kind}; desc: {description}"
    if isinstance(value, Mapping):
        return _build_model(name, value), None, None
    if isinstance(value, Sequence) and not isinstance(value, str):
        item = _build_item_type(f"{name}_List", value)
        return _wrap_with_cast(list[Any] | None, item), None, None
    if is_type(value):
        return cast(Any, value) | None, None, None
    return Any, None, str(value)


def _build_item_type(name: str, items: Sequence[object]) -> Any:  # noqa: ANN401 - a type made at run time
    first = items[0] if items else Any
    if isinstance(first, tuple):
        first = first[0] if first else Any
    elif isinstance(first, Mapping):
        return _build_model(name, first)
    elif isinstance(first, list):
        item = _build_item_type(f"{name}_List", first)
        return _wrap_with_cast(list[Any] | None, item)
    return first if is_type(first) else Any


def _wrap_with_cast(kind: Any, item: Any) -> Any:  # noqa: ANN401 - a type made at run time
    def cast_items(value: object) -> list[object]:
        values = value if isinstance(value, list) else [value]
        return [_cast_item(item, entry) for entry in values]

    return Annotated[kind, PlainValidator(cast_items)]


def _cast_item(kind: Any, value: object) -> object:  # noqa: ANN401 - a type made at run time
    if kind is Any or not isinstance(kind, type) or isinstance(value, kind):
        return value
    if isinstance(value, Mapping) and issubclass(kind, BaseModel):
        return kind.model_validate(value)
    return kind(value)
