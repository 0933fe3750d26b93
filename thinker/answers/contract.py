"""Check an answer against a pydantic model and a list of required paths."""

from dataclasses import dataclass
from typing import get_origin

from pydantic import BaseModel, JsonValue, TypeAdapter, ValidationError
from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic_core import ErrorDetails

from thinker.answers.parse import parse
from thinker.answers.paths import missing
from thinker.answers.verdict import CUT_OFF, AnswerAccepted, AnswerRejected
from thinker.protocol.messages import JsonObject

MAX_PROBLEMS = 8  # reported to the model at once; the next attempt shows the rest

_OBJECT: TypeAdapter[JsonObject] = TypeAdapter(JsonObject)


@dataclass(frozen=True)
class AnswerContract:
    """The pydantic model that an answer must fit, and the paths that it must contain.

    ``ensure_keys`` are paths (``items[*].name``) that must exist even where the model has a
    default. A model whose only field is ``list`` also accepts a bare list.
    """

    model: type[BaseModel]
    ensure_keys: tuple[str, ...] = ()
    max_retries: int = 0

    @property
    def schema(self) -> JsonObject | None:
        """The model as JSON Schema; None when it has types that JSON Schema cannot express."""
        try:
            return _OBJECT.validate_python(self.model.model_json_schema())
        except PydanticInvalidForJsonSchema:
            return None

    def judge(self, text: str, *, whole: bool = True) -> AnswerAccepted | AnswerRejected:
        fields = self.model.model_fields
        answer = parse(text, tuple(field.alias or name for name, field in fields.items()))
        if answer.value is None:
            return AnswerRejected(("it holds no JSON",))
        if answer.repair == "truncated" and not whole:
            return CUT_OFF
        value: JsonValue = answer.value
        if isinstance(value, list) and fields.keys() == {"list"}:
            value = {"list": value} if get_origin(fields["list"].annotation) is list else value
        try:
            checked = self.model.model_validate(value)
        except ValidationError as error:
            return AnswerRejected(
                tuple(_problem(detail) for detail in error.errors()[:MAX_PROBLEMS])
            )
        written = checked.model_dump(mode="json", by_alias=True, exclude_unset=True)
        lacking = missing(written, self.ensure_keys)
        if lacking:
            return AnswerRejected(tuple(f"{key} is missing" for key in lacking[:MAX_PROBLEMS]))
        value = _OBJECT.validate_python(checked.model_dump(mode="json", by_alias=True))
        return AnswerAccepted(value, answer.repaired)


def _problem(detail: ErrorDetails) -> str:
    place = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in detail["loc"])
    return f"{place.removeprefix('.') or 'the answer'}: {detail['msg']}"
