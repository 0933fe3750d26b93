"""Tool calls and reasoning that a model wrote into its text, where they do not belong."""

import re
from collections.abc import Collection
from dataclasses import dataclass

import orjson
from pydantic import TypeAdapter

from thinker.jsontext import MAX_ATTEMPTS, value_at
from thinker.protocol.messages import JsonObject, too_deep

FENCE = r"```.*?(?:```|\Z)"
WHOLE_FENCE = re.compile(r"\s*```\w*\s*\n(.*?)```\s*", re.DOTALL)
# Code is matched first, so that what stands in it is neither found nor removed.
START = re.compile(rf"{FENCE}|(?P<start>\{{\s*\")", re.DOTALL)
CODE = rf"(?P<code>{FENCE}|`[^`\n]*`)"
MARKUP = tuple(
    (
        re.compile(rf"{CODE}|{opening}.*?{closing}", re.DOTALL | re.IGNORECASE),
        re.compile(closing, re.IGNORECASE),
    )
    for opening, closing in (
        ("<think>", "</think>"),
        ("<thinking>", "</thinking>"),
        ("<tool_call>", "</tool_call>"),
        (r"<function\b", "</function>"),
    )
)
BLANK_LINES = re.compile(rf"(?P<code>{FENCE})|\n{{3,}}", re.DOTALL)

_OBJECT: TypeAdapter[JsonObject] = TypeAdapter(JsonObject)


@dataclass(frozen=True)
class LeakedCall:
    """A tool call found in text; ``preamble`` is the text before it."""

    name: str
    arguments: JsonObject
    preamble: str


def find(text: str, offered: Collection[str]) -> LeakedCall | None:
    """The first ``{"name": …, "parameters": {…}}`` in the text that names an offered tool.

    An example in a code fence is no call, unless the fence is all there is.
    """
    fenced = WHOLE_FENCE.fullmatch(text)
    if fenced:
        text = fenced[1]
    attempts = 0
    for match in START.finditer(text):
        if match["start"] is None:
            continue
        attempts += 1
        if attempts > MAX_ATTEMPTS:
            break
        call = _call_at(text, match.start(), offered)
        if call is not None:
            return call
    return None


def clean(text: str) -> str:
    """The text without reasoning and tool-call markup outside code; Markdown stays as it is."""
    for pattern, closing in MARKUP:
        # What opens after the last closing is never closed: not looking there keeps it linear.
        end = max((match.end() for match in closing.finditer(text)), default=0)
        if end:
            text = pattern.sub(lambda match: match["code"] or "", text[:end]) + text[end:]
    return BLANK_LINES.sub(lambda match: match["code"] or "\n\n", text).strip()


def _call_at(text: str, start: int, offered: Collection[str]) -> LeakedCall | None:
    try:
        # Through JSON once more: what cannot be written to the journal is no call.
        found = _OBJECT.validate_json(orjson.dumps(value_at(text, start)))
    except (ValueError, orjson.JSONEncodeError):
        return None
    name, parameters = found.get("name"), found.get("parameters")
    if set(found) != {"name", "parameters"} or not isinstance(parameters, dict):
        return None
    if not isinstance(name, str) or name not in offered or too_deep(parameters):
        return None
    return LeakedCall(name, parameters, text[:start].strip())
