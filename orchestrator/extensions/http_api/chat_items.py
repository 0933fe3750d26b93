"""Translate the messages of a chat completion into items of a Responses request."""

from collections.abc import Iterator, Sequence

import orjson
from pydantic import JsonValue

from orchestrator.web.error_response import make_invalid_problem
from thinker.protocol.messages import JsonObject

PART_TYPES = {"text": "input_text", "image_url": "input_image"}


def build_chat_items(messages: Sequence[JsonObject]) -> tuple[list[JsonValue], list[int]]:
    """Build the items, each with the index of its message.

    Raises:
        ApiProblem: ``tool_calls`` of a message is malformed.
    """
    items: list[JsonValue] = []
    origins: list[int] = []
    for index, message in enumerate(messages):
        translated = list(_list_items(message, index))
        items += translated
        origins += [index] * len(translated)
    return items, origins


def _list_items(message: JsonObject, index: int) -> Iterator[JsonObject]:
    role = str(message.get("role")).strip().lower()
    content = _translate_content(message.get("content"))
    if role == "tool":
        text = content if isinstance(content, str | None) else _join_text(content)
        call_id = message.get("tool_call_id")
        yield {"type": "function_call_output", "call_id": call_id, "output": text}
        return
    calls = message.get("tool_calls") or []
    if content or not calls:
        yield {"type": "message", "role": role, "content": content}
    if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
        raise make_invalid_problem(
            f"messages[{index}].tool_calls", "tool_calls must be an array of objects"
        )
    for call in calls:
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(call, dict) and isinstance(function, dict):
            named = {key: function.get(key) for key in ("name", "arguments")}
            yield {"type": "function_call", "call_id": call.get("id"), **named}


def _translate_content(content: JsonValue) -> JsonValue:
    """Translate a content's parts to the types of the Responses API."""
    if not isinstance(content, list):
        return content
    return [
        {**part, "type": PART_TYPES.get(str(part.get("type")), part.get("type"))}
        if isinstance(part, dict)
        else part
        for part in content
    ]


def _join_text(parts: JsonValue) -> str:
    if not isinstance(parts, list):
        return orjson.dumps(parts).decode()
    texts = (part.get("text") for part in parts if isinstance(part, dict))
    return "\n".join(text for text in texts if isinstance(text, str))
