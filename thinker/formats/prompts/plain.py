"""Any Python value as plain data: types become their names, models their fields (seed 001)."""

from collections.abc import Callable, Mapping
from datetime import date
from types import UnionType
from typing import Any, Literal, TypeAlias, TypeGuard, Union, get_args, get_origin

from pydantic import BaseModel

Items: TypeAlias = list[object] | set[object] | tuple[object, ...]


def is_type(value: object) -> bool:
    """Whether the value stands for a type: a class, or a typing expression such as list[int]."""
    return isinstance(value, type) or get_origin(value) is not None or value is Any


def is_model(value: object) -> TypeGuard[type[BaseModel]]:
    """Whether the value is a pydantic model class."""
    return isinstance(value, type) and get_origin(value) is None and issubclass(value, BaseModel)


def plain(value: object, *, keep_types: bool = False) -> object:
    """The value with every type named, every model expanded and every unknown object as text.

    A model becomes ``{field: (type, description)}``, without a description ``(type,)``. Types stay
    types with ``keep_types``. Keys become text.
    """
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if is_model(value):
        return {
            name: (plain(field.annotation, keep_types=keep_types), field.description)
            if field.description
            else (plain(field.annotation, keep_types=keep_types),)
            for name, field in value.model_fields.items()
        }
    if is_type(value):
        return value if keep_types else type_name(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item, keep_types=keep_types) for key, item in value.items()}
    if isinstance(value, list | set | tuple):
        return mapped(value, lambda item: plain(item, keep_types=keep_types))
    return value.isoformat() if isinstance(value, date) else str(value)


def mapped(items: Items, change: Callable[[object], object]) -> Items:
    """A list, set or tuple of the same kind, of changed items."""
    changed = (change(item) for item in items)
    if isinstance(items, list):
        return list(changed)
    return set(changed) if isinstance(items, set) else tuple(changed)


def type_name(value: object) -> str:
    """A type as a model reads it: ``str``, ``list[int]``, ``Literal[a, b]``, ``str | NoneType``."""
    origin, arguments = get_origin(value), get_args(value)
    if origin is None:
        return str(getattr(value, "__name__", value))
    if origin is UnionType:
        return str(value)
    names = [str(plain(argument)) for argument in arguments]
    if origin is Union:
        return " | ".join(names)
    if origin is Literal:
        return f"Literal[{', '.join(names)}]"
    if origin in {list, dict, tuple}:
        return f"{origin.__name__}[{', '.join(names)}]"
    return str(value)
