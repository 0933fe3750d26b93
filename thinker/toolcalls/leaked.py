"""Find a tool call and reasoning that a model wrote into its text."""

import re
from collections.abc import Collection
from typing import NamedTuple

import orjson

from thinker.jsontext import parse_whole_value
from thinker.protocol.messages import OBJECT, JsonObject, is_too_deep

FENCE = r"```.*?(?:```|\Z)"
# Code is matched first, so that nothing inside it is removed.
CODE = rf"(?P<code>{FENCE}|`[^`\n]*`)"
MARKUP = tuple(
    (
        re.compile(rf"{CODE}|{opening}.*?{closing}", re.DOTALL | re.IGNORECASE),
        re.compile(closing, re.IGNORECASE),
    )
    for opening, closing in (
        ("<think>", "</think>"),
        ("<thinking>", "</thinking>"),
        (r'<tool_call(?: key="\w*")?>', "</tool_call>"),
        (r"<function\b", "</function>"),
    )
)
BLANK_LINES = re.compile(rf"(?P<code>{FENCE})|\n{{3,}}", re.DOTALL)


class LeakedCall(NamedTuple):
    """A tool call found in text."""

    name: str
    arguments: JsonObject


def find_leaked_call(text: str, offered: Collection[str]) -> LeakedCall | None:
    """Return the call if the whole text is ``{"name": …, "parameters": {…}}`` of an offered tool.

    Among other words, or in a code fence, the call is a quotation, perhaps from a page.
    """
    if not text.lstrip().startswith("{"):
        return None
    try:
        # Re-encode: a call that the journal cannot store does not count.
        found = OBJECT.validate_json(orjson.dumps(parse_whole_value(text)))
    except (ValueError, orjson.JSONEncodeError):
        return None
    name, parameters = found.get("name"), found.get("parameters")
    if set(found) != {"name", "parameters"} or not isinstance(parameters, dict):
        return None
    if not isinstance(name, str) or name not in offered or is_too_deep(parameters):
        return None
    return LeakedCall(name, parameters)


def remove_markup(text: str) -> str:
    """Return the text without reasoning and tool-call markup; code and Markdown stay."""
    for pattern, closing in MARKUP:
        # Nothing after the last closing tag is closed; skipping it keeps the search linear.
        end = max((match.end() for match in closing.finditer(text)), default=0)
        if end:
            text = pattern.sub(lambda match: match["code"] or "", text[:end]) + text[end:]
    return BLANK_LINES.sub(lambda match: match["code"] or "\n\n", text).strip()
