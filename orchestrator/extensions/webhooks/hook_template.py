"""Templates of incoming webhooks: ``{{ path }}`` is replaced by a value of the request.

A path leads into the body, such as ``commits.0.message``; ``.`` is the whole body, and
``header:X-GitHub-Event`` a header. Its value must exist, unless the path ends with ``?``.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

import orjson
from pydantic import JsonValue

from orchestrator.errors import OrchestratorError
from thinker.protocol.fencing import fence_text

WHOLE = "."
HEADER = "header:"
PLACE = re.compile(r"\{\{\s*([^{}]*?)\s*\}\}")
PATH = re.compile(r"\.|header:[A-Za-z0-9-]+|(?!header:)[^\s.?{}]+(\.[^\s.?{}]+)*")
MAX_VALUE = 20_000  # characters of one value
MAX_NUMBER = 40  # characters
CUT = "[{left} characters more were left out]"
DEFAULT = "A webhook brought this:\n\n{{ . }}"


class HookEvent(NamedTuple):
    """A request of a webhook; header names are in lower case."""

    body: JsonValue
    headers: Mapping[str, str]


class MissingValueError(OrchestratorError):
    """A value is missing in the request; the message says which."""


def require_path(path: str) -> str:
    """Return a path; raise `ValueError` for anything else."""
    if not PATH.fullmatch(path):
        raise ValueError(
            f'has {path!r}, which is not a path; write one such as "issue.title",'
            ' "header:X-GitHub-Event" or "." for the whole body'
        )
    return path


def require_template(text: str) -> str:
    """Return a template; raise `ValueError` for a place without a path."""
    for path in PLACE.findall(text):
        require_path(path.removesuffix("?"))
    rest = PLACE.sub("", text)
    if "{{" in rest or "}}" in rest:
        raise ValueError("has a {{ or }} without a path and its other half")
    return text


def fill_template(template: str, payload: HookEvent, mark: str, source: str) -> str:
    """Fill a template with values that are marked as text of others.

    ``mark`` cannot be known to the sender; ``source`` names the sender.

    Raises:
        MissingValueError: a value is missing.
    """

    def fill_place(place: re.Match[str]) -> str:
        path = place[1]
        try:
            found = _require_value(payload, path.removesuffix("?"))
        except MissingValueError:
            if path.endswith("?"):
                return ""
            raise
        # A number cannot tell a model anything else.
        number = len(found) <= MAX_NUMBER and not found.strip("-.0123456789")
        return found if number else fence_text(_truncate_value(found), mark, source)

    return PLACE.sub(fill_place, template)


def matches_filter(only: Mapping[str, tuple[str, ...]], payload: HookEvent) -> bool:
    """Return whether a payload has one of the values for each path."""
    return all(_find_value(payload, path) in values for path, values in only.items())


def _find_value(payload: HookEvent, path: str) -> str | None:
    try:
        return _require_value(payload, path)
    except MissingValueError:
        return None


def _require_value(payload: HookEvent, path: str) -> str:
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
    return _format_insertion(value)


def _format_insertion(value: JsonValue) -> str:
    if isinstance(value, str) or value is None:
        return value or ""
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()


def _truncate_value(text: str) -> str:
    left = len(text) - MAX_VALUE
    return f"{text[:MAX_VALUE]}\n{CUT.format(left=left)}" if left > 0 else text
