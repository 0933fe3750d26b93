"""The input items of a Responses request: its instructions and its conversation."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import orjson
from pydantic import JsonValue

from orchestrator.web.error_response import make_invalid_problem
from thinker.protocol.messages import (
    AssistantMessage,
    Image,
    JsonObject,
    Message,
    ToolCall,
    ToolResult,
    UserMessage,
    is_too_deep,
)

INSTRUCTION_ROLES = ("system", "developer")
ROLES = (*INSTRUCTION_ROLES, "user", "assistant")
TEXT_PARTS = ("input_text", "output_text", "text")
IGNORED = ("reasoning",)  # clients send it back with an earlier answer; no model needs it
DATA_URL = re.compile(r"data:(image/[\w.+-]+);base64,([A-Za-z0-9+/=]+)")


@dataclass(frozen=True)
class _Part:
    """A part of a content: text, or the address of an image."""

    text: str = ""
    image: str = ""


def list_developer_parts(items: Sequence[JsonValue]) -> list[str]:
    """Return the text of each part of the system and developer items.

    Raises:
        ApiProblem: an item is malformed or not supported.
    """
    return [
        f"[image_url] {part.image}" if part.image else part.text.strip()
        for place, kind, item in _list_typed_items(items)
        if kind == "message" and _parse_role(item, place) in INSTRUCTION_ROLES
        for part in _parse_parts(item.get("content"), place)
    ]


def parse_conversation(items: Sequence[JsonValue]) -> tuple[Message, ...]:
    """Return the messages, calls and results; adjacent items of one kind are not merged.

    Raises:
        ApiProblem: an item is malformed or not supported.
    """
    messages: list[Message] = []
    names: dict[str, str] = {}
    for place, kind, item in _list_typed_items(items):
        if kind in IGNORED or (kind == "message" and _parse_role(item, place) in INSTRUCTION_ROLES):
            continue
        message = _parse_message(item, kind, place, names)
        if isinstance(message, AssistantMessage):
            names |= {call.id: call.name for call in message.tool_calls}
        messages.append(message)
    return tuple(messages)


def get_trimmed_text(value: JsonValue) -> str:
    """Return trimmed text; empty for anything but a string."""
    return value.strip() if isinstance(value, str) else ""


def get_trimmed_name(value: JsonValue) -> str:
    """Return the trimmed ``name`` of an object; empty without a name."""
    return get_trimmed_text(value.get("name")) if isinstance(value, dict) else ""


def _list_typed_items(items: Sequence[JsonValue]) -> Iterator[tuple[str, str, JsonObject]]:
    """Yield each item with its place and type."""
    for index, item in enumerate(items):
        place = f"input[{index}]"
        if not isinstance(item, dict):
            raise make_invalid_problem(place, "input item must be an object")
        # OpenAI's own clients omit the type of messages.
        kind = str(item.get("type") or ("message" if "role" in item else "")).lower()
        yield place, kind, item


def _parse_role(item: JsonObject, place: str) -> str:
    role = get_trimmed_text(item.get("role")).lower()
    if role not in ROLES:
        raise make_invalid_problem(
            f"{place}.role", "message role must be system, developer, user, or assistant"
        )
    return role


def _parse_message(item: JsonObject, kind: str, place: str, names: dict[str, str]) -> Message:
    if kind == "message":
        return _build_text_message(
            _parse_role(item, place), _parse_parts(item.get("content"), place)
        )
    if kind in ("input_text", "input_image"):
        return _build_text_message("user", _parse_parts([item], place))
    if kind == "function_call":
        call_id = (
            get_trimmed_text(item.get("call_id"))
            or get_trimmed_text(item.get("id"))
            or f"call_{place}"
        )
        name = get_trimmed_name(item) or call_id
        return AssistantMessage(tool_calls=(_parse_call(call_id, name, item.get("arguments")),))
    if kind == "function_call_output":
        call_id = get_trimmed_text(item.get("call_id"))
        if not call_id:
            raise make_invalid_problem(f"{place}.call_id", "call_id is required")
        output = _convert_to_text(item.get("output"))
        name = names.get(call_id, call_id)
        return ToolResult(call_id=call_id, name=name, content=output, origin="tool")
    raise make_invalid_problem(place, "unsupported input item type")


def _build_text_message(role: str, parts: Sequence[_Part]) -> UserMessage | AssistantMessage:
    text = "\n".join(part.text for part in parts if part.text)
    if role == "assistant":
        return AssistantMessage(content=text)
    found = [(part.image, DATA_URL.fullmatch(part.image)) for part in parts if part.image]
    # Other addresses are only named: the daemon fetches nothing on behalf of a client.
    named = [f"[image_url] {url}" for url, match in found if match is None]
    images = tuple(Image(media_type=m[1], data=m[2]) for _, m in found if m is not None)
    return UserMessage(content="\n".join(filter(None, (text, *named))), images=images)


def _parse_parts(content: JsonValue, place: str) -> list[_Part]:
    if isinstance(content, str):
        return [_Part(text=content)]
    if content is None:
        return []
    if not isinstance(content, list):
        raise make_invalid_problem(place, "content must be a string or an array of parts")
    return [_parse_part(part, place) for part in content]


def _parse_part(part: JsonValue, place: str) -> _Part:
    if not isinstance(part, dict):
        raise make_invalid_problem(place, "content item must be an object")
    kind = str(part.get("type") or "").lower()
    if kind in TEXT_PARTS:
        return _Part(text=str(part.get("text") or ""))
    if kind == "input_image":
        return _Part(image=_parse_image_url(part.get("image_url"), place))
    raise make_invalid_problem(place, "unsupported input item type")


def _parse_image_url(image: JsonValue, place: str) -> str:
    url = image.get("url") if isinstance(image, dict) else image
    if not isinstance(url, str) or not url:
        raise make_invalid_problem(place, "input_image.image_url must be a string")
    return url


def _parse_call(call_id: str, name: str, arguments: JsonValue) -> ToolCall:
    text = _convert_to_text(arguments) or "{}"
    try:
        decoded = orjson.loads(text)
    except ValueError:
        decoded = None
    if not isinstance(decoded, dict) or is_too_deep(decoded):
        return ToolCall(id=call_id, name=name, malformed=text)
    return ToolCall(id=call_id, name=name, arguments=decoded)


def _convert_to_text(value: JsonValue) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else orjson.dumps(value).decode()
