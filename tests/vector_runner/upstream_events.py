"""Convert our events of a response to the notation of the vectors.

Upstream sends fewer events with fewer fields, has one message, numbers calls `fc_001`, and sets
every `output_index` to 0, which OpenAI's clients cannot assemble.
"""

from collections.abc import Iterable
from typing import Any

from orchestrator.extensions.http_api.response_events import ServerEvent

FIELDS = {
    "created": ("response",),
    "output_text.delta": ("delta", "output_index"),
    "output_item.added": ("response_id", "output_index", "item"),
    "function_call_arguments.delta": ("response_id", "output_index", "item_id", "delta"),
    "function_call_arguments.done": ("response_id", "output_index", "item_id", "arguments"),
    "output_item.done": ("response_id", "output_index", "item"),
    "output_text.done": (),
    "completed": ("response",),
    "incomplete": ("response",),
    "failed": ("response", "error"),
}
RESPONSE = ("id", "object", "created", "status", "model", "output", "usage")
CALL = ("id", "call_id", "type", "name", "status", "arguments")
USAGE = ("input_tokens", "output_tokens", "total_tokens")


def upstream(events: Iterable[ServerEvent]) -> list[dict[str, Any]]:
    """Return the events that upstream sends in place of our events."""
    sent: list[dict[str, Any]] = []
    ids: dict[str, str] = {}
    response_id = ""
    written = False
    for event in events:
        data: Any = event.data
        if not isinstance(data, dict):
            sent.append({"event": event.event, "data": data})
            continue
        name = data["type"].removeprefix("response.")
        response_id = data.get("response", {}).get("id", response_id)
        item = data.get("item", {})
        written = written or name == "output_text.done"
        if name not in FIELDS or item.get("type") == "message":
            continue
        if item:
            ids.setdefault(item["id"], f"fc_{len(ids) + 1:03}")
        if name in ("completed", "incomplete") and not written:
            sent.append(_event("output_text.done", {}, sent))
        changed = {
            "response_id": response_id,
            "output_index": 0,
            "item": _call(item, ids),
            "item_id": ids.get(data.get("item_id", "")),
            "response": _response(name, data.get("response", {}), ids),
            "error": data.get("response", {}).get("error"),
        }
        fields = {key: changed.get(key, data.get(key)) for key in FIELDS[name]}
        sent.append(_event("completed" if name == "incomplete" else name, fields, sent))
    return sent


def _event(name: str, fields: dict[str, Any], sent: list[dict[str, Any]]) -> dict[str, Any]:
    kind = f"response.{name}"
    return {"event": kind, "data": {"type": kind, **fields, "sequence_number": len(sent) + 1}}


def _call(item: dict[str, Any], ids: dict[str, str]) -> dict[str, Any]:
    number = ids.get(item.get("id", ""))
    call = {**item, "id": number, "call_id": number}
    begun = call.get("status") == "in_progress"
    return {key: call[key] for key in CALL if key in call and not (begun and key == "arguments")}


def _response(name: str, whole: dict[str, Any], ids: dict[str, str]) -> dict[str, Any]:
    if name in ("created", "failed"):
        return {key: whole.get(key) for key in ("id", "status")}
    output = whole.get("output", [])
    texts = [part["text"] for item in output for part in item.get("content", ())]
    message = {
        "id": "<msg_id>",
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "".join(texts)}],
    }
    calls = [_call(item, ids) for item in output if item["type"] == "function_call"]
    for call in calls:
        del call["status"]
    usage = whole.get("usage")
    response = {
        **whole,
        "created": "<created>",
        "output": [message, *calls],
        "usage": usage and {key: usage[key] for key in USAGE},
    }
    return {key: response[key] for key in RESPONSE if response.get(key) is not None}
