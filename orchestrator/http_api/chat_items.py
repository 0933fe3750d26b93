"""Translate the messages of a chat completion into the input items of a Responses request."""

from collections.abc import Iterator, Sequence

import orjson
from pydantic import JsonValue

from orchestrator.http_api.error_response import invalid
from thinker.protocol.messages import JsonObject

PART_TYPES = {"text": "input_text", "image_url": "input_image"}


def chat_items(messages: Sequence[JsonObject]) -> tuple[list[JsonValue], list[int]]:
    """Return the items, and for each the index of the message that it comes from.

    Raises:
        ApiProblem: ``tool_calls`` of a message is malformed.
    """
    items: list[JsonValue] = []
    origins: list[int] = []
    for index, message in enumerate(messages):
        translated = list(_items(message, index))
        items += translated
        origins += [index] * len(translated)
    return items, origins


def _items(message: JsonObject, index: int) -> Iterator[JsonObject]:
    role = str(message.get("role")).strip().lower()
    content = _content(message.get("content"))
    if role == "tool":
        text = content if isinstance(content, str | None) else _text(content)
        call_id = message.get("tool_call_id")
        yield {"type": "function_call_output", "call_id": call_id, "output": text}
        return
    calls = message.get("tool_calls") or []
    if content or not calls:
        yield {"type": "message", "role": role, "content": content}
    if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
        raise invalid(f"messages[{index}].tool_calls", "tool_calls must be an array of objects")
    for call in calls:
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(call, dict) and isinstance(function, dict):
            named = {key: function.get(key) for key in ("name", "arguments")}
            yield {"type": "function_call", "call_id": call.get("id"), **named}


def _content(content: JsonValue) -> JsonValue:
    """Return a content whose parts have the types of Responses."""
    if not isinstance(content, list):
        return content
    return [
        {**part, "type": PART_TYPES.get(str(part.get("type")), part.get("type"))}
        if isinstance(part, dict)
        else part
        for part in content
    ]


def _text(parts: JsonValue) -> str:
    if not isinstance(parts, list):
        return orjson.dumps(parts).decode()
    texts = (part.get("text") for part in parts if isinstance(part, dict))
    return "\n".join(text for text in texts if isinstance(text, str))
