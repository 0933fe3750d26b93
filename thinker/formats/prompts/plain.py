"""Turn any Python value into plain data: types into their names, models into their fields."""

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any, Literal, TypeAlias, TypeGuard, Union, get_args, get_origin

from pydantic import BaseModel

Items: TypeAlias = list[object] | set[object] | tuple[object, ...]


def is_type(value: object) -> bool:
    """Return whether the value is a class or a typing expression such as ``list[int]``."""
    return isinstance(value, type) or get_origin(value) is not None or value is Any


def is_model(value: object) -> TypeGuard[type[BaseModel]]:
    return isinstance(value, type) and get_origin(value) is None and issubclass(value, BaseModel)


def to_plain_data(value: object, *, keep_types: bool = False) -> object:
    """Return the value as plain data: scalars, containers, and text for any other object.

    Types become their names, or stay types with ``keep_types``. A model becomes its
    `list_described_fields`. Keys become text.
    """
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if is_model(value):
        return to_plain_data(list_described_fields(value), keep_types=keep_types)
    if is_type(value):
        return value if keep_types else format_type(value)
    if isinstance(value, Mapping):
        return {str(key): to_plain_data(item, keep_types=keep_types) for key, item in value.items()}
    if isinstance(value, list | set | tuple):
        return map_items(value, lambda item: to_plain_data(item, keep_types=keep_types))
    return value.isoformat() if isinstance(value, date) else str(value)


def list_described_fields(model: type[BaseModel]) -> dict[str, tuple[object, ...]]:
    """Return each field as ``(type, description)``, or as ``(type,)`` without a description."""
    return {
        name: (field.annotation, field.description) if field.description else (field.annotation,)
        for name, field in model.model_fields.items()
    }


def map_items(items: Items, change: Callable[[object], object]) -> Items:
    """Apply ``change`` to the items of a list, set or tuple, keeping the kind of container."""
    changed = (change(item) for item in items)
    if isinstance(items, list):
        return list(changed)
    return set(changed) if isinstance(items, set) else tuple(changed)


def format_type(value: object) -> str:
    """Return the name of a type: ``str``, ``list[int]``, ``Literal[a, b]``, ``str | NoneType``."""
    origin, arguments = get_origin(value), get_args(value)
    if origin is None:
        return str(getattr(value, "__name__", value))
    names = [str(to_plain_data(argument)) for argument in arguments]
    if origin is Union:
        return " | ".join(names)
    if origin is Literal:
        return f"Literal[{', '.join(names)}]"
    if origin in {list, dict, tuple}:
        return f"{origin.__name__}[{', '.join(names)}]"
    return str(value)
