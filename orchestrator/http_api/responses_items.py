"""The input items of a Responses request: instructions in them, and the conversation."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import orjson
from pydantic import JsonValue

from thinker.protocol.messages import (
    AssistantMessage,
    Image,
    JsonObject,
    Message,
    ToolCall,
    ToolResult,
    UserMessage,
    too_deep,
)

INSTRUCTING = ("system", "developer")
ROLES = (*INSTRUCTING, "user", "assistant")
TEXT_PARTS = ("input_text", "output_text", "text")
IGNORED = ("reasoning",)  # what clients send back of an earlier answer, and no model needs
DATA_URL = re.compile(r"data:(image/[\w.+-]+);base64,([A-Za-z0-9+/=]+)")


class RequestError(ValueError):
    """A request that is not in the format; ``param`` names what is wrong with it."""

    def __init__(self, param: str, message: str) -> None:
        super().__init__(message)
        self.param = param

    def document(self) -> JsonObject:
        """The error object that OpenAI's clients expect in an answer with status 400."""
        kind = "invalid_request_error"
        return {"message": str(self), "type": kind, "param": self.param, "code": kind}


@dataclass(frozen=True)
class _Part:
    """A part of a content: text, or the address of an image."""

    text: str = ""
    image: str = ""


def developer_parts(items: Sequence[JsonValue]) -> list[str]:
    """The texts of system and developer items, each part by itself."""
    return [
        f"[image_url] {part.image}" if part.image else part.text.strip()
        for place, kind, item in _typed(items)
        if kind == "message" and _role(item, place) in INSTRUCTING
        for part in _parts(item.get("content"), place)
    ]


def conversation(items: Sequence[JsonValue]) -> tuple[Message, ...]:
    """What was said and called; items of one kind that follow each other stay apart.

    Raises:
        RequestError: an item is of a kind that we do not take.
    """
    messages: list[Message] = []
    names: dict[str, str] = {}
    for place, kind, item in _typed(items):
        if kind in IGNORED or (kind == "message" and _role(item, place) in INSTRUCTING):
            continue
        message = _message(item, kind, place, names)
        if isinstance(message, AssistantMessage):
            names |= {call.id: call.name for call in message.tool_calls}
        messages.append(message)
    return tuple(messages)


def nonblank(value: JsonValue) -> str:
    """Trimmed text; "" for anything else."""
    return value.strip() if isinstance(value, str) else ""


def name_of(value: JsonValue) -> str:
    """The trimmed ``name`` of an object; "" when there is none."""
    return nonblank(value.get("name")) if isinstance(value, dict) else ""


def _typed(items: Sequence[JsonValue]) -> Iterator[tuple[str, str, JsonObject]]:
    for index, item in enumerate(items):
        place = f"input[{index}]"
        if not isinstance(item, dict):
            raise RequestError(place, "input item must be an object")
        # OpenAI's own clients leave the type of messages out.
        kind = str(item.get("type") or ("message" if "role" in item else "")).lower()
        yield place, kind, item


def _role(item: JsonObject, place: str) -> str:
    role = nonblank(item.get("role")).lower()
    if role not in ROLES:
        raise RequestError(
            f"{place}.role", "message role must be system, developer, user, or assistant"
        )
    return role


def _message(item: JsonObject, kind: str, place: str, names: dict[str, str]) -> Message:
    if kind == "message":
        return _said(_role(item, place), _parts(item.get("content"), place))
    if kind in ("input_text", "input_image"):
        return _said("user", _parts([item], place))
    if kind == "function_call":
        call_id = nonblank(item.get("call_id")) or nonblank(item.get("id")) or f"call_{place}"
        name = name_of(item) or call_id
        return AssistantMessage(tool_calls=(_call(call_id, name, item.get("arguments")),))
    if kind == "function_call_output":
        call_id = nonblank(item.get("call_id"))
        if not call_id:
            raise RequestError(f"{place}.call_id", "call_id is required")
        output = _as_text(item.get("output"))
        return ToolResult(call_id=call_id, name=names.get(call_id, call_id), content=output)
    raise RequestError(place, "unsupported input item type")


def _said(role: str, parts: Sequence[_Part]) -> UserMessage | AssistantMessage:
    text = "\n".join(part.text for part in parts if part.text)
    if role == "assistant":
        return AssistantMessage(content=text)
    found = [(part.image, DATA_URL.fullmatch(part.image)) for part in parts if part.image]
    # What is not in the request itself is named, and not fetched for whoever asks.
    named = [f"[image_url] {url}" for url, match in found if match is None]
    images = tuple(Image(media_type=m[1], data=m[2]) for _, m in found if m is not None)
    return UserMessage(content="\n".join(filter(None, (text, *named))), images=images)


def _parts(content: JsonValue, place: str) -> list[_Part]:
    if isinstance(content, str):
        return [_Part(text=content)]
    if content is None:
        return []
    if not isinstance(content, list):
        raise RequestError(place, "content must be a string or an array of parts")
    return [_part(part, place) for part in content]


def _part(part: JsonValue, place: str) -> _Part:
    if not isinstance(part, dict):
        raise RequestError(place, "content item must be an object")
    kind = str(part.get("type") or "").lower()
    if kind in TEXT_PARTS:
        return _Part(text=str(part.get("text") or ""))
    if kind == "input_image":
        return _Part(image=_address(part.get("image_url"), place))
    raise RequestError(place, "unsupported input item type")


def _address(image: JsonValue, place: str) -> str:
    url = image.get("url") if isinstance(image, dict) else image
    if not isinstance(url, str) or not url:
        raise RequestError(place, "input_image.image_url must be a string")
    return url


def _call(call_id: str, name: str, arguments: JsonValue) -> ToolCall:
    text = _as_text(arguments) or "{}"
    try:
        given = orjson.loads(text)
    except ValueError:
        given = None
    if not isinstance(given, dict) or too_deep(given):
        return ToolCall(id=call_id, name=name, malformed=text)
    return ToolCall(id=call_id, name=name, arguments=given)


def _as_text(value: JsonValue) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else orjson.dumps(value).decode()
