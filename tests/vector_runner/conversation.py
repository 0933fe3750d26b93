"""The areas history_repair, history_truncation, sanitize_response and parse_llm_json."""

import re
from collections.abc import Sequence
from typing import Any

import orjson
from vector_runner.cases import Area, Case

from thinker import jsontext
from thinker.history import LOST, repair_history, shorten_old_results
from thinker.protocol.messages import (
    AssistantMessage,
    Message,
    ToolCall,
    ToolResult,
    UserMessage,
)
from thinker.toolcalls.markup import remove_markup

# The reference's text for an empty answer, and what it removes from answers besides markup.
APOLOGY = "I apologize, but I was unable to generate a response."
TAKEN_OUT = re.compile(r'\{\s*"(?:name|type)"\s*:.*\}|\[Action:[^\]]*\]|\[[a-z_]+\]', re.DOTALL)
NUMBER = re.compile(r"was (\d+) chars\]$")


def to_messages(shapes: Sequence[dict[str, Any]]) -> tuple[Message, ...]:
    """Convert messages of the AI SDK; one with several results becomes several messages."""
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
            messages.append(_assistant(content))
    return tuple(messages)


def _assistant(parts: Sequence[dict[str, Any]]) -> AssistantMessage:
    return AssistantMessage(
        content="".join(part["text"] for part in parts if part["type"] == "text"),
        tool_calls=tuple(
            ToolCall(id=part["toolCallId"], name=part["toolName"], arguments=part["args"])
            for part in parts
            if part["type"] == "tool-call"
        ),
    )


def _result(part: dict[str, Any]) -> ToolResult:
    value = part["result"]
    return ToolResult(
        call_id=part["toolCallId"],
        name=part["toolName"],
        content=value if isinstance(value, str) else orjson.dumps(value).decode(),
        is_error=isinstance(value, dict) and set(value) == {"error"},
    )


def _left_open(case: Case, got: tuple[Message, ...]) -> bool:
    """The reference left a call without a result; repaired, its answer equals ours."""
    return repair_history(to_messages(case.expected)) == got


def _came_late(case: Case, got: tuple[Message, ...]) -> bool:
    """The product found a later result where the reference has a placeholder."""
    expected = to_messages(case.expected)
    return len(expected) == len(got) and all(
        theirs == ours
        or (isinstance(theirs, ToolResult) and theirs.content == LOST and ours in _given(case))
        for theirs, ours in zip(expected, got, strict=True)
    )


def _given(case: Case) -> tuple[Message, ...]:
    return to_messages(case.given if isinstance(case.given, list) else case.given["messages"])


def _keeps_exchange(case: Case, got: tuple[Message, ...]) -> bool:
    """The product kept messages that the reference shortened inside a kept exchange."""
    whole, expected = _given(case), to_messages(case.expected)
    return len(whole) == len(expected) == len(got) and all(
        ours in (theirs, original)
        for theirs, ours, original in zip(expected, got, whole, strict=True)
    )


def _counts_otherwise(case: Case, got: tuple[Message, ...]) -> bool:
    """The notes differ only in their numbers, and ours is the length of the whole result."""
    expected, whole = to_messages(case.expected), _given(case)
    if list(map(_without_number, expected)) != list(map(_without_number, got)):
        return False
    return len(whole) == len(got) and all(
        ours.content == original.content or _tell_length(ours.content) == len(original.content)
        for ours, original in zip(got, whole, strict=True)
    )


def _tell_length(content: str) -> int | None:
    """The number of a note."""
    found = NUMBER.search(content)
    return int(found[1]) if found else None


def _without_number(message: Message) -> Message:
    return message.model_copy(update={"content": NUMBER.sub("", message.content)})


def _kept_as_written(case: Case, got: str) -> bool:
    """Without the parts that the reference removes, the answers are equal."""
    taken = re.sub(r"\n{3,}", "\n\n", TAKEN_OUT.sub("", got)).strip()
    return bool((taken or APOLOGY) == case.expected)


def _parse_json(given: str) -> Any:
    try:
        return jsontext.parse_first_value(given)
    except ValueError:
        return None


def _same_or_none(expected: Any, got: Any) -> bool:
    """Compare answers; an error in the vector equals None."""
    refused = isinstance(expected, dict) and bool({"error", "throws"} & expected.keys())
    return bool(expected == got or (refused and got is None))


AREAS = {
    "history_repair": Area(
        run=lambda given: repair_history(to_messages(given)),
        read=to_messages,
        rules={"open-calls": _left_open, "late-results": _came_late},
    ),
    "history_truncation": Area(
        run=lambda given: shorten_old_results(
            to_messages(given["messages"]), given["preserveLastN"]
        ),
        read=to_messages,
        rules={"whole-exchanges": _keeps_exchange, "length-of-text": _counts_otherwise},
    ),
    "sanitize_response": Area(
        run=remove_markup,
        rules={
            "empty-stays-empty": lambda case, got: not got and case.expected == APOLOGY,
            "brackets-and-json-stay": _kept_as_written,
        },
    ),
    "parse_llm_json": Area(run=_parse_json, same=_same_or_none),
}
