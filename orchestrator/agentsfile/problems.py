"""Problems of agents.json, as sentences that say what to do."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, JsonValue
from pydantic_core import ErrorDetails

from orchestrator.agentsfile.agents_file import AgentsFile
from orchestrator.agentsfile.field_types import PATTERN_WORDS
from orchestrator.agentsfile.mounting import load_models
from orchestrator.agentsfile.positions import JsonPath
from orchestrator.agentsfile.provider_names import UNKNOWN, suggest_provider
from orchestrator.config_problem import Problem
from orchestrator.errors import ConfigError

SECRET_FIELDS = frozenset({"env", "headers", "secret", "variables"})
TYPE_WORDS = {
    "bool_type": "must be true or false",
    "list_type": "must be a list: put it in [ ]",
    "tuple_type": "must be a list: put it in [ ]",
    "string_type": 'must be text: put it in " "',
}
KEYS_FILE = "keys.env"  # in the home
NUMBERS = frozenset({"int_type", "float_type"})
SECRET_NAME = re.compile(r"(telegram)?_?(bot|api|access|app)?_?(token|key|password)")
MAX_PROBLEMS = 100  # reported at a time; the rest appears when these are corrected
MUST_BE = "must be "
MAX_SHOWN = 40  # longest refused value, in characters, that a message repeats


class AgentsFileError(ConfigError):
    """agents.json cannot be used; ``problems`` are the reasons."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems[:MAX_PROBLEMS])
        super().__init__("\n".join(map(str, self.problems)))


def format_path(path: Iterable[str | int]) -> str:
    """Format ``("agents", 0, "maxSteps")`` as ``agents[0].maxSteps``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def suggest_name(name: str, known: Iterable[str], otherwise: str = "remove it") -> str:
    """Return ``; did you mean …?`` for a similar known name, or the advice."""
    by_lower = {candidate.lower(): candidate for candidate in known}
    found = get_close_matches(name[:MAX_SHOWN].replace("_", "").lower(), by_lower, n=1)
    return f'; did you mean "{by_lower[found[0]]}"?' if found else f"; {otherwise}"


def suggest_place(name: str, known: Iterable[str]) -> str:
    """Return the place where an unknown field belongs, or the result of `suggest_name`."""
    if SECRET_NAME.fullmatch(name.lower()):
        return "; secrets belong in keys.env in the home, such as TELEGRAM_BOT_TOKEN=…"
    models: dict[str, type[BaseModel]] = {
        "at the top of the file": AgentsFile,
        "in an agent": load_models().agent,
    }
    places = [where for where, model in models.items() if name in list_field_names(model)]
    return f"; it belongs {' or '.join(places)}" if places else suggest_name(name, known)


def describe_key_place(name: str, home: Path | None) -> str:
    """Return a sentence that says where to put a key."""
    return f"put {name}=… into {KEYS_FILE if home is None else home / KEYS_FILE}"


def list_field_names(model: type[BaseModel]) -> list[str]:
    """Return the names of a model's fields as the file writes them."""
    return [field.alias or name for name, field in model.model_fields.items()]


def merge_errors(errors: Iterable[ErrorDetails], item: JsonValue) -> list[ErrorDetails]:
    """Return pydantic's errors of ``item``, at most one for each place.

    Pydantic reports what each member of a union lacks, under a made-up name. Those names are
    removed, and so are the errors of members whose shape differs from the value's.
    """
    at: dict[JsonPath, list[ErrorDetails]] = {}
    for error in errors:
        at.setdefault(_find_place(error, item), []).append(error)
    unions = {place for place, found in at.items() if any(e["loc"] != place for e in found)}
    beneath = {place[:length] for place in unions for length in range(len(place))}
    return [
        _merge_union_errors(found, place)
        for place, found in at.items()
        if place not in unions & beneath
    ]


def _find_place(error: ErrorDetails, item: JsonValue) -> JsonPath:
    """Return the path of an error in ``item``; for a missing field, the last part names it."""
    place: list[str | int] = []
    value: Any = item
    for part in error["loc"]:
        inner = dict(enumerate(value)) if isinstance(value, list) else value
        if isinstance(inner, dict) and part in inner:
            place.append(part)
            value = inner[part]
    return (*place, error["loc"][-1]) if error["type"] == "missing" else tuple(place)


def _merge_union_errors(errors: Sequence[ErrorDetails], place: JsonPath) -> ErrorDetails:
    """Return one error for a value that no member of a union takes."""
    own = [error for error in errors if error["type"] == "value_error"]
    first = (own or list(errors))[0]
    if len(errors) == 1 or own:
        return {**first, "loc": place}
    wanted = [_translate_message(error).removeprefix(MUST_BE) for error in errors]
    return {**first, "loc": place, "type": "union", "msg": MUST_BE + " or ".join(wanted)}


def _translate_message(error: ErrorDetails) -> str:
    """Return pydantic's message in terms of the file, not of Python."""
    known = TYPE_WORDS.get(error["type"])
    if error["type"] in NUMBERS and str(error["input"]).replace(".", "", 1).isdecimal():
        known = "must be a number without quotes" if isinstance(error["input"], str) else known
    return known or re.sub(r"^\w+( \w+)? should", "must", error["msg"])


def describe_error(subject: str, error: ErrorDetails, model: type[BaseModel]) -> str:
    """Describe pydantic's error in ``subject`` (``agent 'work'``), an instance of ``model``."""
    loc, kind = error["loc"], error["type"]
    place = format_path(loc)
    if kind == "missing":
        return f'{subject} has no {place}; set "{place}" or remove the {subject.partition(" ")[0]}'
    if kind == "extra_forbidden":
        known = list_field_names(_find_model_at(model, loc[:-1]))
        return f'{subject} has an unknown field "{place}"{suggest_place(str(loc[-1]), known)}'
    message = error["msg"].removeprefix("Value error, ")
    if kind == "value_error":
        return f'{subject}: "{place}" {message}' if place else f"{subject} {message}"
    if kind == "string_pattern_mismatch":
        pattern = error["ctx"]["pattern"]
        message = PATTERN_WORDS.get(pattern, f"must match {pattern}")
    else:
        message = _translate_message(error)
    if not place:
        return f"{subject} must be an object"
    value = _format_short_value(error, loc)
    return f'{subject}: "{place}" {message}{value}{_suggest_provider(error)}'


def _format_short_value(error: ErrorDetails, loc: JsonPath) -> str:
    """Return ``, not VALUE`` when the value is short and cannot be a secret."""
    value = error["input"]
    if not isinstance(value, str | int | float) or SECRET_FIELDS & set(map(str, loc)):
        return ""
    text = json.dumps(value) if isinstance(value, bool) else repr(value)
    return f", not {text}" if len(text) <= MAX_SHOWN and ", not " not in error["msg"] else ""


def _suggest_provider(error: ErrorDetails) -> str:
    """Return the advice for an unknown name of a provider."""
    name = error["input"]
    if error["type"] != UNKNOWN or not isinstance(name, str):
        return ""
    known = error["ctx"]["known"]
    other = 'for another one add it to "providers" with the "baseUrl" of its OpenAI-compatible API'
    return suggest_provider(name, known) or suggest_name(name, known, other)


def _find_model_at(model: type[BaseModel], loc: JsonPath) -> type[BaseModel]:
    """Return the model of the object at ``loc`` inside ``model``."""
    for part in loc:
        for name, field in model.model_fields.items():
            if part == (field.alias or name):
                model = next(_list_models_in(field.annotation), model)
    return model


def _list_models_in(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _list_models_in(inner)
