"""A contract of an answer: a pydantic model, and places that must be there."""

from dataclasses import dataclass
from typing import Literal, get_origin

from pydantic import BaseModel, JsonValue, TypeAdapter, ValidationError
from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic_core import ErrorDetails

from thinker.answers.parse import parse
from thinker.answers.paths import Style, missing
from thinker.answers.verdict import AnswerAccepted, AnswerRejected
from thinker.protocol.messages import JsonObject

MAX_PROBLEMS = 8  # named to the model; mending those shows the next

_OBJECT: TypeAdapter[JsonObject] = TypeAdapter(JsonObject)


@dataclass(frozen=True)
class AnswerContract:
    """The model that an answer is checked against, and the places that it must have.

    ``ensure_keys`` are paths (``items[*].name``) that must lead somewhere even where the model
    would do without. A model whose only field is ``list`` also takes a bare list.
    """

    model: type[BaseModel]
    ensure_keys: tuple[str, ...] = ()
    style: Style = "dot"
    max_retries: int = 0

    @property
    def schema(self) -> JsonObject | None:
        """The model as JSON Schema; None when it has types that JSON has not."""
        try:
            return _OBJECT.validate_python(self.model.model_json_schema())
        except PydanticInvalidForJsonSchema:
            return None

    @property
    def opening(self) -> Literal["{", "["]:
        """The bracket that an answer begins with, for `AnswerStream`."""
        return "[" if self._is_list() else "{"

    def judge(self, text: str, *, whole: bool = True) -> AnswerAccepted | AnswerRejected:
        """The answer in this text, or what is wrong with it.

        ``whole`` is false for a text that the provider cut: half of an answer is none.
        """
        answer = parse(text, self._keys())
        if answer.value is None:
            return AnswerRejected(("it holds no JSON",))
        if answer.repair == "truncated" and not whole:
            return AnswerRejected(("it was cut off at the length limit; make it shorter",))
        value: JsonValue = answer.value
        if isinstance(value, list) and self._is_list():
            value = {"list": value}
        try:
            checked = self.model.model_validate(value)
        except ValidationError as error:
            return AnswerRejected(
                tuple(_problem(detail) for detail in error.errors()[:MAX_PROBLEMS])
            )
        said = checked.model_dump(mode="json", by_alias=True, exclude_unset=True)
        lacking = missing(said, self.ensure_keys, self.style)
        if lacking:
            return AnswerRejected(tuple(f"{key} is missing" for key in lacking[:MAX_PROBLEMS]))
        value = _OBJECT.validate_python(checked.model_dump(mode="json", by_alias=True))
        return AnswerAccepted(value, answer.repaired)

    def _keys(self) -> tuple[str, ...]:
        fields = self.model.model_fields.items()
        return tuple(field.alias or name for name, field in fields)

    def _is_list(self) -> bool:
        only = self.model.model_fields
        return set(only) == {"list"} and get_origin(only["list"].annotation) is list


def _problem(detail: ErrorDetails) -> str:
    place = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in detail["loc"])
    return f"{place.removeprefix('.') or 'the answer'}: {detail['msg']}"
