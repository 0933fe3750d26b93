"""The texts of incoming webhooks: ``{{ path }}`` stands for a value of what was sent.

A path goes through the body, such as ``commits.0.message``; ``.`` is the whole body, and
``header:X-GitHub-Event`` a header. Without a ``?`` at its end what it names has to be there.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

import orjson
from pydantic import JsonValue

from orchestrator.errors import OrchestratorError
from thinker.protocol.fencing import fenced

WHOLE = "."
HEADER = "header:"
PLACE = re.compile(r"\{\{\s*([^{}]*?)\s*\}\}")
PATH = re.compile(r"\.|header:[A-Za-z0-9-]+|(?!header:)[^\s.?{}]+(\.[^\s.?{}]+)*")
MAX_VALUE = 20_000  # characters of one value
MAX_NUMBER = 40  # characters
CUT = "[{left} characters more were left out]"
DEFAULT = "A webhook brought this:\n\n{{ . }}"


class HookEvent(NamedTuple):
    """What a webhook sent; names of headers are in lower case."""

    body: JsonValue
    headers: Mapping[str, str]


class MissingValueError(OrchestratorError):
    """What was sent lacks a value; the message says which."""


def checked_path(path: str) -> str:
    """Return a path; raise `ValueError` for anything else."""
    if not PATH.fullmatch(path):
        raise ValueError(
            f'has {path!r}, which is not a path; write one such as "issue.title",'
            ' "header:X-GitHub-Event" or "." for the whole body'
        )
    return path


def checked_template(text: str) -> str:
    """Return a template; raise `ValueError` if a place in it names no path."""
    for path in PLACE.findall(text):
        checked_path(path.removesuffix("?"))
    rest = PLACE.sub("", text)
    if "{{" in rest or "}}" in rest:
        raise ValueError("has a {{ or }} without a path and its other half")
    return text


def filled(template: str, payload: HookEvent, mark: str, source: str) -> str:
    """Return a template with its values, which are marked as text that others wrote.

    ``mark`` is one that the sender cannot know, ``source`` names the sender.

    Raises:
        MissingValueError: the payload has no such value.
    """

    def value(place: re.Match[str]) -> str:
        path = place[1]
        try:
            found = _at(payload, path.removesuffix("?"))
        except MissingValueError:
            if path.endswith("?"):
                return ""
            raise
        # A number cannot tell a model anything else.
        number = len(found) <= MAX_NUMBER and not found.strip("-.0123456789")
        return found if number else fenced(_cut(found), mark, source)

    return PLACE.sub(value, template)


def selected(only: Mapping[str, tuple[str, ...]], payload: HookEvent) -> bool:
    """Return whether a payload has one of the values of each path."""
    return all(_value_or_none(payload, path) in values for path, values in only.items())


def _value_or_none(payload: HookEvent, path: str) -> str | None:
    try:
        return _at(payload, path)
    except MissingValueError:
        return None


def _at(payload: HookEvent, path: str) -> str:
    if path.startswith(HEADER):
        name = path.removeprefix(HEADER)
        found: JsonValue = payload.headers.get(name.lower())
        if found is None:
            raise MissingValueError(f"the request has no header {name}")
        return str(found)
    value = payload.body
    for part in [] if path == WHOLE else path.split("."):
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            raise MissingValueError(f"the body has no {path}")
    return _text(value)


def _text(value: JsonValue) -> str:
    if isinstance(value, str) or value is None:
        return value or ""
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()


def _cut(text: str) -> str:
    left = len(text) - MAX_VALUE
    return f"{text[:MAX_VALUE]}\n{CUT.format(left=left)}" if left > 0 else text
