"""Field types of prompt definitions.

The type of each pydantic error is a rule name (``non_empty_string``, ``positive_integer`` …), so
that programs can tell problems apart.
"""

from collections.abc import Callable
from typing import Annotated, Any, LiteralString, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StrictStr
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from thinker.formats.prompts.input_schema import find_schema_misuse
from thinker.protocol.messages import JsonObject


class Definition(BaseModel):
    """Base class for the parts of a prompt definition: frozen, camelCase, no unknown fields."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        populate_by_name=True,
        defer_build=True,
    )


def build_rule_validator(
    name: LiteralString, message: LiteralString, fits: Callable[[Any], bool]
) -> Callable[[object], object]:
    """Return a validator that rejects other values with this error type and message."""

    def check_value(value: object) -> object:
        if not fits(value):
            raise PydanticCustomError(name, message)
        return value

    return check_value


def build_name_validator(kind: type[Definition]) -> BeforeValidator:
    """Return a validator that accepts a name in place of an object of this kind."""
    message = "must be a name or an object with a name"
    check = build_rule_validator(
        "string_or_object", message, lambda value: isinstance(value, dict | kind)
    )
    return BeforeValidator(lambda x: {"name": x} if isinstance(x, str) else check(x))


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _require_object_schema(value: object) -> object:
    """Return the JSON Schema of an object; a pydantic model becomes its schema."""
    if isinstance(value, type) and issubclass(value, BaseModel):
        return value.model_json_schema()
    if not isinstance(value, dict) or value.get("type", "object") != "object":
        raise PydanticCustomError("object_schema", 'must be a JSON Schema with "type": "object"')
    if problem := find_schema_misuse(value):
        raise PydanticCustomError("object_schema", "{problem}", {"problem": problem})
    return value


not_blank = build_rule_validator(
    "non_empty_string",
    "must not be empty",
    lambda value: not isinstance(value, str) or bool(value.strip()),
)
_plain_name = build_rule_validator(
    "name",
    "must have no slash and no control character",
    lambda value: "/" not in value and value.isprintable(),
)
_count = build_rule_validator("positive_integer", "must be a whole number from 1", _is_count)
_tokens = build_rule_validator("number", "must be a whole number of tokens from 1", _is_count)
_list = build_rule_validator(
    "string_array", "must be a list of names", lambda x: isinstance(x, list | tuple)
)
NonEmptyText: TypeAlias = Annotated[StrictStr, AfterValidator(not_blank)]
Name: TypeAlias = Annotated[NonEmptyText, Field(max_length=128), AfterValidator(_plain_name)]
PositiveNumber: TypeAlias = Annotated[int, BeforeValidator(_count)]
TokenCount: TypeAlias = Annotated[int, BeforeValidator(_tokens)]
Names: TypeAlias = Annotated[tuple[NonEmptyText, ...], BeforeValidator(_list)]
Schema: TypeAlias = Annotated[JsonObject, BeforeValidator(_require_object_schema)]
Environment: TypeAlias = dict[NonEmptyText, StrictStr]
