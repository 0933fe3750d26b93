"""Translate a request in the format of Anthropic's Messages API into a Responses request.

Unsupported parts are refused by name, never dropped silently.
"""

from collections.abc import Iterator, Sequence

import orjson
from pydantic import JsonValue

from orchestrator.web.error_response import make_invalid_problem
from thinker.protocol.messages import JsonObject

IGNORED = ("thinking", "redacted_thinking")  # clients send them back; they belong to the provider
ROLES = ("user", "assistant", "system")
CHOICES = {"auto": "auto", "any": "required", "none": "none"}
PLAIN = "text/plain"


def parse_system_text(system: JsonValue) -> str | None:
    """Return the text of ``system``: a string, or blocks of text.

    Raises:
        ApiProblem: ``system`` is neither of these.
    """
    if system is None or isinstance(system, str):
        return system
    if not isinstance(system, list):
        raise make_invalid_problem("system", "system must be a string or an array of text blocks")
    return "\n\n".join(_require_text(block, f"system[{at}]") for at, block in enumerate(system))


def build_message_items(messages: Sequence[JsonObject]) -> tuple[list[JsonValue], list[int]]:
    """Build the items, each with the index of its message.

    Raises:
        ApiProblem: a message or one of its blocks is malformed or not supported.
    """
    items: list[JsonValue] = []
    origins: list[int] = []
    for index, message in enumerate(messages):
        made = list(_list_items(message, f"messages[{index}]"))
        items += made
        origins += [index] * len(made)
    return items, origins


def build_function_tools(tools: JsonValue) -> JsonValue:
    """Build function tools.

    Raises:
        ApiProblem: a tool is malformed, or is one of Anthropic's servers or clients.
    """
    if tools is None:
        return None
    if not isinstance(tools, list):
        raise make_invalid_problem("tools", "tools must be an array of definitions")
    return [_build_function(tool, f"tools[{at}]") for at, tool in enumerate(tools)]


def build_function_choice(choice: JsonValue) -> JsonValue:
    """Build the tool choice as in the Responses API.

    Raises:
        ApiProblem: the choice is malformed.
    """
    if choice is None:
        return None
    kind = choice.get("type") if isinstance(choice, dict) else None
    if kind == "tool" and isinstance(choice, dict):
        return {"type": "function", "name": choice.get("name")}
    if kind not in CHOICES:
        raise make_invalid_problem(
            "tool_choice.type", "tool_choice.type must be auto, any, tool or none"
        )
    return CHOICES[str(kind)]


def _list_items(message: JsonObject, place: str) -> Iterator[JsonObject]:
    """Yield the items of a message, with adjacent text and pictures merged."""
    role, content = message.get("role"), message.get("content")
    if role not in ROLES:
        raise make_invalid_problem(f"{place}.role", "role must be user, assistant or system")
    alone: JsonObject = {"type": "text", "text": content}
    blocks: JsonValue = [alone] if isinstance(content, str) else content
    if not isinstance(blocks, list):
        raise make_invalid_problem(
            f"{place}.content", "content must be a string or an array of blocks"
        )
    parts: list[JsonValue] = []
    for at, block in enumerate(blocks):
        where = f"{place}.content[{at}]"
        if not isinstance(block, dict):
            raise make_invalid_problem(where, "a block must be an object")
        kind = str(block.get("type"))
        if kind in IGNORED:
            continue
        if kind in ("tool_use", "tool_result"):
            if parts:
                yield {"type": "message", "role": role, "content": parts}
                parts = []
            yield (
                _build_call_item(block) if kind == "tool_use" else _build_result_item(block, where)
            )
        else:
            parts.append(_build_part(block, kind, where))
    if parts:
        yield {"type": "message", "role": role, "content": parts}


def _build_part(block: JsonObject, kind: str, place: str) -> JsonObject:
    if kind == "text":
        return {"type": "input_text", "text": _require_text(block, place)}
    source = block.get("source")
    if kind == "image" and isinstance(source, dict):
        if source.get("type") == "base64":
            url = f"data:{source.get('media_type')};base64,{source.get('data')}"
            return {"type": "input_image", "image_url": url}
        if source.get("type") == "url":
            return {"type": "input_image", "image_url": source.get("url")}
        raise make_invalid_problem(
            place, f"an image by {source.get('type')!r} is not supported; send base64"
        )
    if kind == "document" and isinstance(source, dict):
        if source.get("type") == "text" and source.get("media_type", PLAIN) == PLAIN:
            title = f"{block.get('title')}:\n" if isinstance(block.get("title"), str) else ""
            return {"type": "input_text", "text": f"{title}{source.get('data')}"}
        found = source.get("media_type") or source.get("type")
        raise make_invalid_problem(place, f"a document of {found} is not supported; send base64")
    raise make_invalid_problem(place, f"blocks of type {kind!r} are not supported")


def _build_call_item(block: JsonObject) -> JsonObject:
    arguments = orjson.dumps(block.get("input") or {}).decode()
    return {
        "type": "function_call",
        "call_id": block.get("id"),
        "name": block.get("name"),
        "arguments": arguments,
    }


def _build_result_item(block: JsonObject, place: str) -> JsonObject:
    content = block.get("content")
    if isinstance(content, list):
        shown = (_require_text(part, f"{place}.content[{at}]") for at, part in enumerate(content))
        content = "\n".join(shown)
    text = content if isinstance(content, str) else ""
    if block.get("is_error") is True:
        text = f"Error: {text}"
    return {"type": "function_call_output", "call_id": block.get("tool_use_id"), "output": text}


def _require_text(block: JsonValue, place: str) -> str:
    text = block.get("text") if isinstance(block, dict) else None
    if not isinstance(text, str):
        kind = block.get("type") if isinstance(block, dict) else "this"
        raise make_invalid_problem(place, f"only text is allowed here, not {kind!r}")
    return text


def _build_function(tool: JsonValue, place: str) -> JsonObject:
    if not isinstance(tool, dict):
        raise make_invalid_problem(place, "a tool must be an object")
    if tool.get("type") not in (None, "custom"):
        raise make_invalid_problem(
            place, f"the tool {tool.get('type')!r} is not supported; the agent has its own tools"
        )
    return {
        "type": "function",
        "name": tool.get("name"),
        "description": tool.get("description"),
        "parameters": tool.get("input_schema"),
    }
