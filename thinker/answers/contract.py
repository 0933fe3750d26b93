"""Check an answer against a pydantic model and a list of required paths."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import get_origin

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic_core import ErrorDetails

from thinker.answers.parse import parse_answer
from thinker.answers.verdict import CUT_OFF, AnswerAccepted, AnswerRejected
from thinker.formats.prompts.problem import format_path
from thinker.protocol.messages import OBJECT, JsonObject

MAX_PROBLEMS = 8  # reported to the model at a time; the next attempt shows the rest

STEP = re.compile(r"\[(\*|-?\d*)\]|([^.\[\]]+)")  # of a path such as ``items[*].name``


@dataclass(frozen=True)
class AnswerContract:
    """The pydantic model of an answer, and the paths that it must contain.

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
            return OBJECT.validate_python(self.model.model_json_schema())
        except PydanticInvalidForJsonSchema:
            return None

    def validate_answer(self, text: str, *, whole: bool = True) -> AnswerAccepted | AnswerRejected:
        fields = self.model.model_fields
        answer = parse_answer(text, tuple(field.alias or name for name, field in fields.items()))
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
                tuple(_format_problem(detail) for detail in error.errors()[:MAX_PROBLEMS])
            )
        written = checked.model_dump(mode="json", by_alias=True, exclude_unset=True)
        lacking = list_missing_paths(written, self.ensure_keys)
        if lacking:
            return AnswerRejected(tuple(f"{key} is missing" for key in lacking[:MAX_PROBLEMS]))
        value = OBJECT.validate_python(checked.model_dump(mode="json", by_alias=True))
        return AnswerAccepted(value, answer.is_repaired)


def _format_problem(detail: ErrorDetails) -> str:
    return f"{format_path(detail['loc']) or 'the answer'}: {detail['msg']}"


def list_missing_paths(value: JsonValue, paths: Iterable[str]) -> tuple[str, ...]:
    """Return those of the paths that a value lacks; ``[*]`` stands for every item."""
    return tuple(path for path in paths if not _has_path(value, _split_path(path)))


def _split_path(path: str) -> list[str]:
    return [index or name or "*" for index, name in STEP.findall(path)]


def _has_path(value: JsonValue, steps: list[str]) -> bool:
    if not steps:
        return True
    first, rest = steps[0], steps[1:]
    if isinstance(value, dict):
        return first in value and _has_path(value[first], rest)
    if not isinstance(value, list):
        return False
    if first == "*":
        return all(_has_path(item, rest) for item in value)
    if not re.fullmatch(r"-?\d+", first):
        return False
    index = int(first)
    return -len(value) <= index < len(value) and _has_path(value[index], rest)
