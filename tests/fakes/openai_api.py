"""A fake of OpenAI's chat completions API on loopback: ``async with OpenAIApi() as api``."""

import re
from collections.abc import Callable
from typing import Any

import orjson
from fakes.model_api import ModelApi, Reply

COMPLETION_TOKENS = 7
CACHED_TOKENS = 3


class OpenAIApi(ModelApi):
    """``api.url + "/v1"`` is the base address; echoes unless it is told otherwise."""

    def __init__(self, reply: Callable[[dict[str, Any]], Reply] | None = None) -> None:
        super().__init__(reply)
        models = [{"id": "fake-model", "object": "model"}]
        self.pages["/v1/models"] = {"object": "list", "data": models}

    def echo(self, body: dict[str, Any]) -> Reply:
        """Repeat the newest user text."""
        said = next(m["content"] for m in reversed(body["messages"]) if m["role"] == "user")
        return Reply(f"echo: {said}")

    def document(self, body: dict[str, Any], reply: Reply) -> dict[str, Any]:
        """A ``chat.completion``."""
        message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
        if reply.reasoning:
            message["reasoning_content"] = reply.reasoning
        if reply.tool_calls:
            message["tool_calls"] = _calls(reply)
        return {
            **_envelope(body, "chat.completion"),
            "choices": [{"index": 0, "message": message, "finish_reason": _finish(reply)}],
            "usage": _usage(reply),
        }

    def events(self, body: dict[str, Any], reply: Reply) -> list[bytes]:
        """Chunks: the role, words, call by call in halves, the finish, the usage, ``[DONE]``."""
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        if reply.reasoning:
            deltas.append({"reasoning_content": reply.reasoning})
        deltas += [{"content": word} for word in _words(reply.text)]
        for index, call in enumerate(_calls(reply)):
            text = call["function"]["arguments"]
            middle = len(text) // 2
            named = {**call, "function": {**call["function"], "arguments": text[:middle]}}
            deltas.append({"tool_calls": [{"index": index, **named}]})
            rest = {"index": index, "function": {"arguments": text[middle:]}}
            deltas.append({"tool_calls": [rest]})
        choices: list[list[dict[str, Any]]] = [
            [{"index": 0, "delta": delta, "finish_reason": None}] for delta in deltas
        ]
        choices.append([{"index": 0, "delta": {}, "finish_reason": _finish(reply)}])
        envelope = _envelope(body, "chat.completion.chunk")
        chunks: list[dict[str, Any]] = [{**envelope, "choices": choice} for choice in choices]
        if body.get("stream_options", {}).get("include_usage"):
            chunks.append({**envelope, "choices": [], "usage": _usage(reply)})
        return [*map(orjson.dumps, chunks), b"[DONE]"]

    def error(self, reply: Reply) -> dict[str, Any]:
        """OpenAI's error object."""
        return {"error": {"message": reply.text, "type": reply.kind, "code": None}}


def _envelope(body: dict[str, Any], kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": kind, "created": 1, "model": body["model"]}


def _usage(reply: Reply) -> dict[str, Any]:
    return {
        "prompt_tokens": reply.prompt_tokens,
        "completion_tokens": COMPLETION_TOKENS,
        "total_tokens": reply.prompt_tokens + COMPLETION_TOKENS,
        "prompt_tokens_details": {"cached_tokens": CACHED_TOKENS},
    }


def _finish(reply: Reply) -> str:
    return reply.finish or ("tool_calls" if reply.tool_calls else "stop")


def _calls(reply: Reply) -> list[dict[str, Any]]:
    return [
        {
            "id": f"call_fake_{index}",
            "type": "function",
            "function": {
                "name": name,
                "arguments": given if isinstance(given, str) else orjson.dumps(given).decode(),
            },
        }
        for index, (name, given) in enumerate(reply.tool_calls)
    ]


def _words(text: str) -> list[str]:
    return re.findall(r"\S*\s|\S+", text)
