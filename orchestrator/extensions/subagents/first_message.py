"""A prompt definition as a tool of another one: its arguments, first message and result.

The supervisor runs it as a turn of its own, like a subagent; the functions here are pure.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, cast

import orjson
from pydantic import JsonValue

from thinker.formats.prompts.definition import PromptDefinition
from thinker.formats.prompts.tooluse import DelegatedUse, SubpromptUse
from thinker.protocol.messages import JsonObject, SideEffect, ToolSpec

NO_INPUTS: JsonObject = {"type": "object", "properties": {}}
NOTHING = "The prompt ran; its result is empty."
FAILED = "The prompt failed."


class SubpromptCall(NamedTuple):
    """A tool call of a sub-prompt: its arguments as JSON text, and its result."""

    name: str
    arguments: str
    result: str
    failed: bool = False


def build_tool_spec(definition: PromptDefinition) -> ToolSpec:
    return ToolSpec(
        name=definition.name,
        description=definition.tool_description,
        parameters=definition.required_schema or NO_INPUTS,
        side_effect=SideEffect.LOCAL_TX,
    )


def apply_defaults(arguments: JsonObject, schema: JsonObject) -> JsonObject:
    """Add the defaults of missing arguments, and drop arguments that the schema does not name.

    A schema with ``additionalProperties`` keeps unknown arguments.
    """
    fields = schema.get("properties")
    if not isinstance(fields, dict):
        return arguments
    known = {
        name: _fill_defaults(arguments[name], field) if name in arguments else field.get("default")
        for name, field in fields.items()
        if isinstance(field, dict) and (name in arguments or "default" in field)
    }
    open_ended = schema.get("additionalProperties") not in (None, False)
    return {**arguments, **known} if open_ended else known


def parse_opening(use: DelegatedUse, arguments: JsonObject) -> tuple[str | None, tuple[str, ...]]:
    """Return the first message, taken from the arguments, and the paths of its attachments."""
    name = use.init_user_message_property
    text = None if name is None or name not in arguments else format_argument(arguments[name])
    attached = arguments.get(use.init_attachments_property or "")
    paths: Sequence[JsonValue] = attached if isinstance(attached, list) else [attached]
    return text, tuple(path for path in paths if isinstance(path, str) and path)


def format_opening_message(use: DelegatedUse, arguments: JsonObject) -> str | None:
    """Return the first message with its attachments as text; None when both are missing."""
    text, paths = parse_opening(use, arguments)
    return append_attachments(text or "", paths) or None


def append_attachments(text: str, paths: Sequence[str]) -> str:
    attached = f"[Attached files: {', '.join(paths)}]" if paths else ""
    return "\n\n".join(part for part in (text, attached) if part)


def format_first_message(use: DelegatedUse, arguments: JsonObject) -> str:
    """Return a sub-prompt's first message; without one, all its arguments as JSON."""
    text, paths = parse_opening(use, arguments)
    return append_attachments(
        format_argument(cast("JsonValue", arguments)) if text is None else text, paths
    )


def format_run_result(use: SubpromptUse, text: str, ran: Iterable[SubpromptCall]) -> str:
    """Return the parts of a run that the caller wants: text, calls, errors."""
    calls, errors = [], []
    for tool in ran:
        called = f"- {tool.name}({tool.arguments})"
        calls.append(called if tool.failed else f"{called}: {tool.result}")
        if tool.failed:
            errors.append(f"- {tool.name}: {tool.result}")
    blocks = (
        text if use.include_text_response else "",
        "\n".join(("Tool calls:", *calls)) if calls and use.include_tool_calls else "",
        "\n".join(("Errors:", *errors)) if errors and use.include_errors else "",
    )
    return "\n\n".join(block for block in blocks if block) or NOTHING


def format_run_failure(use: SubpromptUse, reason: str) -> str:
    """Return the result of a run that failed as a whole."""
    return f"Error: {reason}" if use.include_errors and reason else FAILED


def _fill_defaults(value: JsonValue, schema: JsonValue) -> JsonValue:
    if isinstance(value, dict) and isinstance(schema, dict):
        return apply_defaults(value, schema)
    if isinstance(value, list) and isinstance(schema, dict):
        return [_fill_defaults(item, schema.get("items")) for item in value]
    return value


def format_argument(value: JsonValue) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()
