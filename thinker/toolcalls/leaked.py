"""Find tool calls and reasoning that a model wrote into its text."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from itertools import islice

import orjson
from pydantic import TypeAdapter

from thinker.jsontext import MAX_ATTEMPTS, value_at
from thinker.protocol.messages import JsonObject, too_deep

FENCE = r"```.*?(?:```|\Z)"
WHOLE_FENCE = re.compile(r"\s*```\w*\s*\n(.*?)```\s*", re.DOTALL)
# Code is matched first, so that nothing inside it is found or removed.
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
    """Return the first ``{"name": …, "parameters": {…}}`` in the text that names an offered tool.

    An example in a code fence is not a call, unless the fence is the whole text.
    """
    fenced = WHOLE_FENCE.fullmatch(text)
    if fenced:
        text = fenced[1]
    starts = (match.start() for match in START.finditer(text) if match["start"] is not None)
    calls = (_call_at(text, start, offered) for start in islice(starts, MAX_ATTEMPTS))
    return next((call for call in calls if call is not None), None)


def clean(text: str) -> str:
    """Return the text without reasoning and tool-call markup; code and Markdown stay."""
    for pattern, closing in MARKUP:
        # Nothing after the last closing tag is closed; skipping it keeps the search linear.
        end = max((match.end() for match in closing.finditer(text)), default=0)
        if end:
            text = pattern.sub(lambda match: match["code"] or "", text[:end]) + text[end:]
    return BLANK_LINES.sub(lambda match: match["code"] or "\n\n", text).strip()


def _call_at(text: str, start: int, offered: Collection[str]) -> LeakedCall | None:
    try:
        # Re-encode: a call that the journal cannot store does not count.
        found = _OBJECT.validate_json(orjson.dumps(value_at(text, start)))
    except (ValueError, orjson.JSONEncodeError):
        return None
    name, parameters = found.get("name"), found.get("parameters")
    if set(found) != {"name", "parameters"} or not isinstance(parameters, dict):
        return None
    if not isinstance(name, str) or name not in offered or too_deep(parameters):
        return None
    return LeakedCall(name, parameters, text[:start].strip())
