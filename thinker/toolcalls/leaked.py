"""Find tool calls that a model wrote into its text."""

from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import NamedTuple

import orjson

from thinker.jsontext import parse_whole_value
from thinker.protocol.messages import OBJECT, AssistantMessage, JsonObject, ToolSpec, is_too_deep
from thinker.toolcalls.arguments import coerce_arguments, find_properties
from thinker.toolcalls.dialects import WrittenCall, clean_tool_name, read_calls
from thinker.toolcalls.markup import BARE_CALLS, split_answer


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


def find_marked_calls(
    message: AssistantMessage, offered: Mapping[str, ToolSpec]
) -> list[LeakedCall]:
    """Return the calls of offered tools that a message has between the marks of any dialect.

    Without any text for people they may stand in the reasoning, or be a list without marks.
    """
    parts = split_answer(message.content)
    blocks = list(parts.calls)
    if not blocks and not parts.text.strip():
        blocks += split_answer(message.reasoning or "").calls
        blocks += [call for thought in parts.thoughts for call in split_answer(thought).calls]
    found = [call for block in blocks for call in read_calls(block)]
    bare = None if found else BARE_CALLS.fullmatch(parts.text.strip())
    if bare is not None:
        found = read_calls(bare["code"] or bare[0])
    named = [call._replace(name=clean_tool_name(call.name)) for call in found]
    if bare is not None and any(call.name not in offered for call in named):
        return []
    return [
        LeakedCall(call.name, _read_typed(call, offered[call.name]))
        for call in named
        if call.name in offered and not is_too_deep(call.arguments)
    ]


def _read_typed(call: WrittenCall, tool: ToolSpec) -> JsonObject:
    """Return arguments of a dialect that writes every value as text, in the types of the schema."""
    if not call.textual:
        return call.arguments
    fields = find_properties(tool.parameters)
    values: JsonObject = dict(call.arguments)
    for name, value in call.arguments.items():
        field = fields.get(name)
        kind = field.get("type") if isinstance(field, dict) else None
        if isinstance(value, str) and kind != "string" and value.lstrip()[:1] in ("{", "["):
            with suppress(ValueError):
                values[name] = orjson.loads(value)
    return coerce_arguments(values, tool.parameters)
