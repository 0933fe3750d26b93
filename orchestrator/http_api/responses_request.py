"""A request in OpenAI's Responses format, made into ours (seed 003, "Ingress normalization").

It stands in the protocol because both sides need it: the supervisor answers such requests, the
worker's text protocol is judged by what it makes of them. Everything here is pure.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from orchestrator.http_api.responses_items import (
    RequestError,
    conversation,
    developer_parts,
    name_of,
    nonblank,
)
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
    """A request in our shapes.

    ``tools`` are its function tools; ``instructions`` what stands after the tool-call block:
    the top-level ones, then the text of system and developer items in their order. A
    ``tool_choice`` of None is one that the request explicitly left open.
    """

    tools: tuple[ToolSpec, ...] = ()
    tool_choice: ToolChoice | None = None
    instructions: tuple[str, ...] = ()
    messages: tuple[Message, ...] = ()


def normalise(body: JsonObject) -> ResponsesRequest:
    """Read a request body.

    Raises:
        RequestError: it is not in the format; the error names the parameter.
    """
    if isinstance(body.get("messages"), list):
        raise RequestError("messages", "messages is not supported for /v1/responses")
    top = body.get("instructions")
    if top is not None and not isinstance(top, str):
        raise RequestError("instructions", "instructions must be a string")
    definitions = _definitions(body.get("tools"))
    tools = tuple(tool for tool in definitions if tool is not None)
    choice = _choice(body.get("tool_choice"), tools, declared=bool(definitions))
    if choice is None and definitions and "tool_choice" not in body:
        choice = AUTO
    given = body.get("input")
    if given is not None and not isinstance(given, str | list):
        raise RequestError("input", "input must be a string or an array of items")
    items = given if isinstance(given, list) else []
    said = (UserMessage(content=given),) if isinstance(given, str) else conversation(items)
    return ResponsesRequest(
        tools=tools,
        tool_choice=choice,
        instructions=tuple(filter(None, (nonblank(top), *developer_parts(items)))),
        messages=said,
    )


def _definitions(tools: JsonValue) -> Sequence[ToolSpec | None]:
    """Each definition; None for a tool that is no function."""
    if tools is None:
        return ()
    if not isinstance(tools, list):
        raise RequestError("tools", "tools must be an array of definitions")
    return [_definition(tool, f"tools[{index}]") for index, tool in enumerate(tools)]


def _definition(tool: JsonValue, place: str) -> ToolSpec | None:
    if not isinstance(tool, dict):
        raise RequestError(place, "tool definition must be an object")
    function = tool.get("function") or tool.get("fn")
    kind = nonblank(tool.get("type")).lower()
    if not kind and (function or isinstance(tool.get("name"), str)):
        kind = "function"
    if not kind:
        raise RequestError(f"{place}.type", "tool type must be a non-empty string")
    if kind != "function":
        return None
    inner = function if isinstance(function, dict) else {}
    name = name_of(inner) or name_of(tool)
    if not name:
        raise RequestError(
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


def _choice(given: JsonValue, tools: Sequence[ToolSpec], *, declared: bool) -> ToolChoice | None:
    if isinstance(given, dict):
        return _forced(given, {tool.name for tool in tools}, declared=declared)
    if given is None:
        return None
    if not isinstance(given, str):
        raise RequestError(
            "tool_choice",
            'tool_choice must be a string ("auto" | "none" | "required") '
            'or { type: "function", function: { name } }',
        )
    word = given.strip().lower()
    if word and word not in MODES:
        raise RequestError(
            "tool_choice",
            'tool_choice must be "auto", "none", "required", or a function selector',
        )
    return MODES.get(word)


def _forced(given: JsonObject, names: Collection[str], *, declared: bool) -> ToolChoice:
    kind = given.get("type") or "function"
    if not isinstance(kind, str) or kind.lower() != "function":
        raise RequestError("tool_choice.type", 'tool_choice.type must be "function"')
    function = given.get("function") or given.get("fn")
    name = name_of(function) or name_of(given)
    if not name:
        raise RequestError("tool_choice.function.name", "tool_choice.function.name is required")
    if not declared:
        raise RequestError("tool_choice", "tool_choice requires tools definitions")
    if name not in names:
        raise RequestError(
            "tool_choice.function.name",
            "tool_choice.function.name must reference a declared tool",
        )
    return ToolChoice(mode="function", name=name)
