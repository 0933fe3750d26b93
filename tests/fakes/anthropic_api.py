"""A fake of Anthropic's Messages API on loopback: ``async with AnthropicApi() as api``."""

from typing import Any

import orjson
from fakes.model_api import ModelApi, Reply

INPUT_TOKENS = 5
OUTPUT_TOKENS = 7
CACHE_READ = 100
CACHE_WRITTEN = 20


class AnthropicApi(ModelApi):
    """``api.url`` is the base address; echoes unless it is told otherwise."""

    def echo(self, body: dict[str, Any]) -> Reply:
        """Repeat the text of the newest user message."""
        blocks = body["messages"][-1]["content"]
        return Reply("echo: " + "".join(block.get("text", "") for block in blocks))

    def document(self, body: dict[str, Any], reply: Reply) -> dict[str, Any]:
        """A ``message``."""
        return {
            **_message(body),
            "content": _blocks(reply),
            "stop_reason": _stop(reply),
            "usage": {**_input_usage(), "output_tokens": OUTPUT_TOKENS},
        }

    def events(self, body: dict[str, Any], reply: Reply) -> list[bytes]:
        """Every event type of the API, tool input in halves."""
        usage = {**_input_usage(), "output_tokens": 1}
        events: list[dict[str, Any]] = [
            {"type": "message_start", "message": {**_message(body), "usage": usage}},
            {"type": "ping"},
        ]
        for index, block in enumerate(_blocks(reply)):
            events += _block_events(index, block)
        events += [
            {
                "type": "message_delta",
                "delta": {"stop_reason": _stop(reply), "stop_sequence": None},
                "usage": {"output_tokens": OUTPUT_TOKENS},
            },
            {"type": "message_stop"},
        ]
        return [orjson.dumps(event) for event in events]

    def error(self, reply: Reply) -> dict[str, Any]:
        """Anthropic's error object."""
        return {"type": "error", "error": {"type": reply.kind, "message": reply.text}}

    def frame(self, event: bytes) -> bytes:
        """Anthropic names its events beside the data."""
        name = str(orjson.loads(event)["type"])
        return b"event: " + name.encode() + b"\ndata: " + event + b"\n\n"


def _message(body: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }


def _input_usage() -> dict[str, int]:
    return {
        "input_tokens": INPUT_TOKENS,
        "cache_read_input_tokens": CACHE_READ,
        "cache_creation_input_tokens": CACHE_WRITTEN,
    }


def _stop(reply: Reply) -> str:
    return reply.finish or ("tool_use" if reply.tool_calls else "end_turn")


def _blocks(reply: Reply) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    if reply.reasoning:
        blocks.append({"type": "thinking", "thinking": reply.reasoning, "signature": ""})
    if reply.text:
        blocks.append({"type": "text", "text": reply.text})
    for index, (name, given) in enumerate(reply.tool_calls):
        call = {"type": "tool_use", "id": f"toolu_{index}", "name": name, "input": given}
        blocks.append(call)
    return blocks


def _block_events(index: int, block: dict[str, Any]) -> list[dict[str, Any]]:
    empty = {"text": "", "thinking": "", "input": {}}
    start = {key: empty.get(key, value) for key, value in block.items()}
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *(
            {"type": "content_block_delta", "index": index, "delta": delta}
            for delta in _deltas(block)
        ),
        {"type": "content_block_stop", "index": index},
    ]


def _deltas(block: dict[str, Any]) -> list[dict[str, Any]]:
    if block["type"] == "text":
        text = block["text"]
        return [{"type": "text_delta", "text": part} for part in _halves(text)]
    if block["type"] == "thinking":
        return [{"type": "thinking_delta", "thinking": part} for part in _halves(block["thinking"])]
    given = block["input"]
    written = given if isinstance(given, str) else orjson.dumps(given).decode()
    return [{"type": "input_json_delta", "partial_json": part} for part in _halves(written)]


def _halves(text: str) -> list[str]:
    middle = len(text) // 2
    return [text[:middle], text[middle:]]
