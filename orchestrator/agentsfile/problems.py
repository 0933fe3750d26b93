"""Problems of agents.json, in sentences that say what to do."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal, Self, TypeAlias, get_args

from pydantic import BaseModel, JsonValue
from pydantic_core import ErrorDetails

from orchestrator.agentsfile.agent_definition import AgentDefinition
from orchestrator.agentsfile.agents_file import AgentsFile
from orchestrator.agentsfile.field_types import PATTERN_WORDS
from orchestrator.agentsfile.positions import JsonPath
from orchestrator.agentsfile.provider_names import UNKNOWN, advice
from orchestrator.errors import ConfigError

SECRET_FIELDS = frozenset({"env", "headers", "secret", "variables"})
TYPE_WORDS = {
    "bool_type": "must be true or false",
    "list_type": "must be a list: put it in [ ]",
    "tuple_type": "must be a list: put it in [ ]",
    "string_type": 'must be text: put it in " "',
}
PLACES: dict[str, type[BaseModel]] = {
    "at the top of the file": AgentsFile,
    "in an agent": AgentDefinition,
}
NUMBERS = frozenset({"int_type", "float_type"})
SECRET_NAME = re.compile(r"(telegram)?_?(bot|api|access|app)?_?(token|key|password)")
MAX_PROBLEMS = 100  # told at a time; the rest shows when these are corrected
MUST_BE = "must be "
MAX_SHOWN = 40  # longest refused value, in characters, that a message repeats
Severity: TypeAlias = Literal["error", "warning"]


@dataclass(frozen=True)
class Problem:
    """One finding; ``line`` counts from 1, 0 when the file could not be read at all."""

    severity: Severity
    file: str
    line: int
    agent_id: str | None
    path: str
    message: str

    @classmethod
    def unusable(cls, file: object, message: str, line: int = 0) -> Self:
        """Return the error of a file or folder that cannot be used at all."""
        return cls("error", str(file), line, None, "", message)

    def __str__(self) -> str:
        """``agents.json:12: agent 'work' has no model; set "model" or remove the agent``."""
        where = f"{self.file}:{self.line}" if self.line else self.file
        return f"{where}: {'warning: ' if self.severity == 'warning' else ''}{self.message}"


class AgentsFileError(ConfigError):
    """agents.json cannot be used at all; ``problems`` are the reasons."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems[:MAX_PROBLEMS])
        super().__init__("\n".join(map(str, self.problems)))


def path_text(path: Iterable[str | int]) -> str:
    """Format ``("agents", 0, "maxSteps")`` as ``agents[0].maxSteps``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def suggestion(name: str, known: Iterable[str], otherwise: str = "remove it") -> str:
    """Return the end of a sentence about an unknown name: the nearest known one, or the advice."""
    by_lower = {candidate.lower(): candidate for candidate in known}
    found = get_close_matches(name[:MAX_SHOWN].replace("_", "").lower(), by_lower, n=1)
    return f'; did you mean "{by_lower[found[0]]}"?' if found else f"; {otherwise}"


def misplaced(name: str, known: Iterable[str]) -> str:
    """Return the end of a sentence about an unknown field: where it belongs, or a `suggestion`."""
    if SECRET_NAME.fullmatch(name.lower()):
        return "; secrets belong in keys.env in the home, such as TELEGRAM_BOT_TOKEN=…"
    places = [where for where, model in PLACES.items() if name in field_names(model)]
    return f"; it belongs {' or '.join(places)}" if places else suggestion(name, known)


def field_names(model: type[BaseModel]) -> list[str]:
    """Return the names of a model's fields as the file writes them."""
    return [field.alias or name for name, field in model.model_fields.items()]


def merged(errors: Iterable[ErrorDetails], item: JsonValue) -> list[ErrorDetails]:
    """Return pydantic's errors of ``item``, one for each place.

    Pydantic tells what each member of a union misses, below a name of its own making. Those names
    go, and so do members of another shape than the value has.
    """
    at: dict[JsonPath, list[ErrorDetails]] = {}
    for error in errors:
        at.setdefault(_place(error, item), []).append(error)
    unions = {place for place, found in at.items() if any(e["loc"] != place for e in found)}
    beneath = {place[:length] for place in unions for length in range(len(place))}
    return [_either(found, place) for place, found in at.items() if place not in unions & beneath]


def _place(error: ErrorDetails, item: JsonValue) -> JsonPath:
    """Return where in ``item`` an error is; what is missing is the last part of its place."""
    place: list[str | int] = []
    value: Any = item
    for part in error["loc"]:
        inner = dict(enumerate(value)) if isinstance(value, list) else value
        if isinstance(inner, dict) and part in inner:
            place.append(part)
            value = inner[part]
    return (*place, error["loc"][-1]) if error["type"] == "missing" else tuple(place)


def _either(errors: Sequence[ErrorDetails], place: JsonPath) -> ErrorDetails:
    """Return one error for a value that no member of a union takes."""
    own = [error for error in errors if error["type"] == "value_error"]
    first = (own or list(errors))[0]
    if len(errors) == 1 or own:
        return {**first, "loc": place}
    wanted = [_words(error).removeprefix(MUST_BE) for error in errors]
    return {**first, "loc": place, "type": "union", "msg": MUST_BE + " or ".join(wanted)}


def _words(error: ErrorDetails) -> str:
    """Return pydantic's message in words of the file, not of Python."""
    known = TYPE_WORDS.get(error["type"])
    if error["type"] in NUMBERS and str(error["input"]).replace(".", "", 1).isdecimal():
        known = "must be a number without quotes" if isinstance(error["input"], str) else known
    return known or re.sub(r"^\w+( \w+)? should", "must", error["msg"])


def sentence(subject: str, error: ErrorDetails, model: type[BaseModel]) -> str:
    """Describe pydantic's error in ``subject`` (``agent 'work'``), an instance of ``model``."""
    loc, kind = error["loc"], error["type"]
    place = path_text(loc)
    if kind == "missing":
        return f'{subject} has no {place}; set "{place}" or remove the {subject.partition(" ")[0]}'
    if kind == "extra_forbidden":
        known = field_names(_model_at(model, loc[:-1]))
        return f'{subject} has an unknown field "{place}"{misplaced(str(loc[-1]), known)}'
    message = error["msg"].removeprefix("Value error, ")
    if kind == "value_error":
        return f'{subject}: "{place}" {message}' if place else f"{subject} {message}"
    if kind == "string_pattern_mismatch":
        message = PATTERN_WORDS[error["ctx"]["pattern"]]
    else:
        message = _words(error)
    return (
        f'{subject}: "{place}" {message}{_shown(error, loc)}{_meant(error)}'
        if place
        else (f"{subject} must be an object")
    )


def _shown(error: ErrorDetails, loc: JsonPath) -> str:
    """Return ``, not VALUE`` when the value is short and cannot be a secret."""
    value = error["input"]
    if not isinstance(value, str | int | float) or SECRET_FIELDS & set(map(str, loc)):
        return ""
    text = json.dumps(value) if isinstance(value, bool) else repr(value)
    return f", not {text}" if len(text) <= MAX_SHOWN and ", not " not in error["msg"] else ""


def _meant(error: ErrorDetails) -> str:
    """Return what to write in place of a provider that has no such name."""
    name = error["input"]
    if error["type"] != UNKNOWN or not isinstance(name, str):
        return ""
    known = error["ctx"]["known"]
    other = 'for another one add it to "providers" with the "baseUrl" of its OpenAI-compatible API'
    return advice(name, known) or suggestion(name, known, other)


def _model_at(model: type[BaseModel], loc: JsonPath) -> type[BaseModel]:
    """Return the model of the object at ``loc`` inside ``model``."""
    for part in loc:
        for name, field in model.model_fields.items():
            if part == (field.alias or name):
                model = next(_models_in(field.annotation), model)
    return model


def _models_in(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models_in(inner)
