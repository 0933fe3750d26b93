"""Field types of prompt definitions.

The type of each pydantic error is a rule name (``non_empty_string``, ``positive_integer`` …), so
that programs can tell problems apart.
"""

from typing import Annotated, LiteralString, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StrictStr
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from thinker.protocol.messages import JsonObject


class Definition(BaseModel):
    """Base class for the parts of a prompt definition: frozen, camelCase, no unknown fields."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True
    )


def _not_blank(value: str) -> str:
    if not value.strip():
        raise PydanticCustomError("non_empty_string", "must not be empty")
    return value


def _plain_name(value: str) -> str:
    if "/" in value or not value.isprintable():
        raise PydanticCustomError("name", "must have no slash and no control character")
    return value


def _whole_number(rule: LiteralString, message: LiteralString) -> BeforeValidator:
    """Accept whole numbers from 1; ``rule`` and ``message`` are those of the error."""

    def check(value: object) -> object:
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise PydanticCustomError(rule, message)
        return value

    return BeforeValidator(check)


def _list_of_names(value: object) -> object:
    if not isinstance(value, list | tuple):
        raise PydanticCustomError("string_array", "must be a list of names")
    return value


def _object_schema(value: object) -> object:
    """Accept the JSON Schema of an object, or a pydantic model in its place."""
    if isinstance(value, type) and issubclass(value, BaseModel):
        return value.model_json_schema()
    if not isinstance(value, dict) or value.get("type", "object") != "object":
        raise PydanticCustomError("object_schema", 'must be a JSON Schema with "type": "object"')
    return value


NonEmptyText: TypeAlias = Annotated[StrictStr, AfterValidator(_not_blank)]
Name: TypeAlias = Annotated[NonEmptyText, Field(max_length=128), AfterValidator(_plain_name)]
PositiveNumber: TypeAlias = Annotated[
    int, _whole_number("positive_integer", "must be a whole number from 1")
]
TokenCount: TypeAlias = Annotated[
    int, _whole_number("number", "must be a whole number of tokens from 1")
]
Names: TypeAlias = Annotated[tuple[NonEmptyText, ...], BeforeValidator(_list_of_names)]
Schema: TypeAlias = Annotated[JsonObject, BeforeValidator(_object_schema)]
Environment: TypeAlias = dict[NonEmptyText, StrictStr]
