"""Reads the cases with known answers in tests/vectors, and translates their message shape."""

import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson
import pytest
from _pytest.mark import ParameterSet

from thinker.protocol.messages import (
    AssistantMessage,
    Message,
    ToolCall,
    ToolResult,
    UserMessage,
)

FILE = Path(__file__).parent / "vectors" / "agent_runtime.json"


@lru_cache
def _entries() -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads(FILE.read_text("utf-8"))
    return entries


def cases(area: str) -> list[ParameterSet]:
    """``(name, input, expected)`` of every case of an area, as pytest parameters."""
    found = [
        pytest.param(entry["name"], entry["input"], entry["expected"], id=entry["name"])
        for entry in _entries()
        if entry["area"] == area
    ]
    assert found, f"no vectors of area {area}"
    return found


def fixture(name: str) -> Any:
    """The value of a named fixture entry."""
    return next(e["expected"] for e in _entries() if (e["area"], e["name"]) == ("fixture", name))


def to_messages(shapes: Sequence[dict[str, Any]]) -> tuple[Message, ...]:
    """Messages in the AI-SDK shape as ours: a message of several results becomes several."""
    messages: list[Message] = []
    for shape in shapes:
        content = shape["content"]
        if shape["role"] == "user":
            messages.append(UserMessage(content=content))
        elif shape["role"] == "tool":
            messages.extend(_result(part) for part in content)
        elif isinstance(content, str):
            messages.append(AssistantMessage(content=content))
        else:
            messages.append(
                AssistantMessage(
                    content="".join(part["text"] for part in content if part["type"] == "text"),
                    tool_calls=tuple(
                        ToolCall(id=p["toolCallId"], name=p["toolName"], arguments=p["args"])
                        for p in content
                        if p["type"] == "tool-call"
                    ),
                )
            )
    return tuple(messages)


def _result(part: dict[str, Any]) -> ToolResult:
    value = part["result"]
    return ToolResult(
        call_id=part["toolCallId"],
        name=part["toolName"],
        content=value if isinstance(value, str) else orjson.dumps(value).decode(),
        is_error=isinstance(value, dict) and set(value) == {"error"},
    )
