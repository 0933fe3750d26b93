"""The notation of output_slots.json: Python types, tuples, sets and models as JSON."""

import enum
import typing
from collections.abc import Callable
from types import NoneType
from typing import Any

from pydantic import BaseModel, Field, create_model

from thinker.formats.prompts.plain import is_type

NAMES = {name: getattr(typing, name) for name in ("Any", "Literal", "Optional", "Union")} | {
    "NoneType": NoneType
}


def decoded(value: Any) -> Any:
    """Return the Python value of a case."""
    if isinstance(value, list):
        return [decoded(item) for item in value]
    if not isinstance(value, dict):
        return value
    mark = next(iter(value), "")
    return MARKS[mark](value[mark]) if mark in MARKS else _mapping(value)


def encoded(value: Any) -> Any:
    """Return an answer in the notation of the cases."""
    if isinstance(value, BaseModel):
        value = value.model_dump(by_alias=True)
    if isinstance(value, dict):
        return {key: encoded(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        items = [encoded(item) for item in value]
        return items if isinstance(value, list) else {f"${type(value).__name__}": items}
    if isinstance(value, enum.Enum):
        return {"$enum_member": str(value)}
    return {"$t": _name(value)} if is_type(value) else value


def _mapping(items: dict[str, Any]) -> dict[str, Any]:
    return {key: decoded(item) for key, item in items.items()}


def _name(kind: Any) -> str:
    return str(kind).replace("typing.", "") if typing.get_origin(kind) else kind.__name__


def _type(expression: str) -> Any:
    # Cases come from the repository or from the user's own file.
    return eval(expression, dict(NAMES))  # noqa: S307 - see above


def _model(model: dict[str, Any]) -> type[BaseModel]:
    fields: dict[str, Any] = {
        name: (
            _type(field["type"]),
            Field(
                ... if field.get("required", True) else field.get("default"),
                description=field.get("desc"),
            ),
        )
        for name, field in model["fields"].items()
    }
    return create_model(model["name"], **fields)


MARKS: dict[str, Callable[[Any], Any]] = {
    "$t": _type,
    "$tuple": lambda items: tuple(map(decoded, items)),
    "$set": lambda items: set(map(decoded, items)),
    "$model": _model,
    "$enum": lambda given: enum.Enum(given["name"], given["members"]),
    "$intkeys": lambda items: {int(key): decoded(item) for key, item in items.items()},
}
