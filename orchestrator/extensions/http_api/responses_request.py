"""Translate a request in OpenAI's Responses format into tools, instructions and messages.

Pure. Error messages are those that clients of the format expect.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from orchestrator.extensions.http_api.responses_items import (
    get_trimmed_name,
    get_trimmed_text,
    list_developer_parts,
    parse_conversation,
)
from orchestrator.web.error_response import make_invalid_problem
from thinker.protocol.messages import (
    AUTO,
    NO_TOOLS,
    JsonObject,
    Message,
    ToolChoice,
    ToolSpec,
    UserMessage,
)

MODES = {"auto": AUTO, "none": NO_TOOLS, "required": ToolChoice(mode="required")}


@dataclass(frozen=True)
class ResponsesRequest:
    """A translated request.

    ``tools`` are its function tools. ``instructions`` follow the tool-call block: the top-level
    ones, then the text of system and developer items in their order. ``tool_choice`` is None when
    the request sets it to null, or has no tools and no choice.
    """

    tools: tuple[ToolSpec, ...] = ()
    tool_choice: ToolChoice | None = None
    instructions: tuple[str, ...] = ()
    messages: tuple[Message, ...] = ()


def translate_request(body: JsonObject) -> ResponsesRequest:
    """Translate a request body.

    Raises:
        ApiProblem: the body does not follow the format; ``param`` names the field.
    """
    if isinstance(body.get("messages"), list):
        raise make_invalid_problem("messages", "messages is not supported for /v1/responses")
    top = body.get("instructions")
    if top is not None and not isinstance(top, str):
        raise make_invalid_problem("instructions", "instructions must be a string")
    definitions = _parse_definitions(body.get("tools"))
    tools = tuple(tool for tool in definitions if tool is not None)
    choice = _parse_tool_choice(body.get("tool_choice"), tools, declared=bool(definitions))
    if choice is None and definitions and "tool_choice" not in body:
        choice = AUTO
    content = body.get("input")
    if content is not None and not isinstance(content, str | list):
        raise make_invalid_problem("input", "input must be a string or an array of items")
    items = content if isinstance(content, list) else []
    messages = (
        (UserMessage(content=content),) if isinstance(content, str) else parse_conversation(items)
    )
    return ResponsesRequest(
        tools=tools,
        tool_choice=choice,
        instructions=tuple(filter(None, (get_trimmed_text(top), *list_developer_parts(items)))),
        messages=messages,
    )


def _parse_definitions(tools: JsonValue) -> Sequence[ToolSpec | None]:
    """Return each definition; None for a tool that is not a function."""
    if tools is None:
        return ()
    if not isinstance(tools, list):
        raise make_invalid_problem("tools", "tools must be an array of definitions")
    return [_parse_definition(tool, f"tools[{index}]") for index, tool in enumerate(tools)]


def _parse_definition(tool: JsonValue, place: str) -> ToolSpec | None:
    if not isinstance(tool, dict):
        raise make_invalid_problem(place, "tool definition must be an object")
    function = tool.get("function") or tool.get("fn")
    kind = get_trimmed_text(tool.get("type")).lower()
    if not kind and (function or isinstance(tool.get("name"), str)):
        kind = "function"
    if not kind:
        raise make_invalid_problem(f"{place}.type", "tool type must be a non-empty string")
    if kind != "function":
        return None
    inner = function if isinstance(function, dict) else {}
    name = get_trimmed_name(inner) or get_trimmed_name(tool)
    if not name:
        raise make_invalid_problem(
            f"{place}.function.name", 'function definitions must include a non-empty "name"'
        )
    description, parameters, strict = (
        inner[key] if key in inner else tool.get(key)
        for key in ("description", "parameters", "strict")
    )
    return ToolSpec(
        name=name,
        description=description if isinstance(description, str) else "",
        parameters=parameters if isinstance(parameters, dict) else {},
        strict=strict is True,
    )


def _parse_tool_choice(
    choice: JsonValue, tools: Sequence[ToolSpec], *, declared: bool
) -> ToolChoice | None:
    if isinstance(choice, dict):
        return _parse_forced_choice(choice, {tool.name for tool in tools}, declared=declared)
    if choice is None:
        return None
    if not isinstance(choice, str):
        raise make_invalid_problem(
            "tool_choice",
            'tool_choice must be a string ("auto" | "none" | "required") '
            'or { type: "function", function: { name } }',
        )
    mode = choice.strip().lower()
    if mode and mode not in MODES:
        raise make_invalid_problem(
            "tool_choice",
            'tool_choice must be "auto", "none", "required", or a function selector',
        )
    return MODES.get(mode)


def _parse_forced_choice(
    selector: JsonObject, names: Collection[str], *, declared: bool
) -> ToolChoice:
    kind = selector.get("type") or "function"
    if not isinstance(kind, str) or kind.lower() != "function":
        raise make_invalid_problem("tool_choice.type", 'tool_choice.type must be "function"')
    function = selector.get("function") or selector.get("fn")
    name = get_trimmed_name(function) or get_trimmed_name(selector)
    if not name:
        raise make_invalid_problem(
            "tool_choice.function.name", "tool_choice.function.name is required"
        )
    if not declared:
        raise make_invalid_problem("tool_choice", "tool_choice requires tools definitions")
    if name not in names:
        raise make_invalid_problem(
            "tool_choice.function.name",
            "tool_choice.function.name must reference a declared tool",
        )
    return ToolChoice(mode="function", name=name)
