"""Messages in Anthropic's format, whole and as streams."""

from typing import Any

import orjson
import pytest

from orchestrator.extensions.http_api.anthropic_formatter import MessagesFormatter
from orchestrator.extensions.http_api.parsed_request import parse_messages
from orchestrator.extensions.http_api.stored_requests import HandedCall, Outcome
from orchestrator.web.error_response import make_invalid_problem
from thinker.protocol.messages import Usage
from thinker.protocol.methods import StopReason

CALL = HandedCall(id="c", name="look", arguments='{"at":"sea"}')
USED = Usage(prompt=10, cached=4, cache_written=1, completion=3)


def formatter() -> MessagesFormatter:
    """That of one request."""
    request = parse_messages(
        {"model": "work", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]}
    )
    return MessagesFormatter("1", 0, request)


def events(stream: bytes) -> list[dict[str, Any]]:
    """The data of events, each named as its data says."""
    found = []
    for event in stream.decode().strip().split("\n\n"):
        name, data = event.split("\n")
        found.append(orjson.loads(data.removeprefix("data: ")))
        assert name == f"event: {found[-1]['type']}"
    return found


def test_stream_has_a_block_for_each_text_and_call() -> None:
    """Blocks are opened once and closed before the next; the counts come last."""
    made = formatter()
    stream = [
        made.begin_stream(),
        made.extend_stream("Let me"),
        made.extend_stream("Let me see"),
        made.extend_stream("It is"),
    ]
    told = Outcome(text="It is", stop_reason=StopReason.HANDED_BACK, calls=(CALL,), usage=USED)
    stream.append(made.end_stream(told))
    found = events(b"".join(stream))
    assert [(event["type"], event.get("index")) for event in found] == [
        ("message_start", None),
        *(("content_block_start", 0), ("content_block_delta", 0), ("content_block_delta", 0)),
        ("content_block_stop", 0),
        *(("content_block_start", 1), ("content_block_delta", 1), ("content_block_stop", 1)),
        *(("content_block_start", 2), ("content_block_delta", 2), ("content_block_stop", 2)),
        *(("message_delta", None), ("message_stop", None)),
    ]
    assert found[-2]["delta"]["stop_reason"] == "tool_use"
    assert found[-2]["usage"] == {
        "input_tokens": 5,
        "output_tokens": 3,
        "cache_read_input_tokens": 4,
        "cache_creation_input_tokens": 1,
    }


@pytest.mark.parametrize(
    ("reason", "shown"),
    [
        (StopReason.DONE, "end_turn"),
        (StopReason.LENGTH, "max_tokens"),
        (StopReason.REFUSED, "refusal"),
    ],
)
def test_whole_message_says_why_it_ended(reason: StopReason, shown: str) -> None:
    """Its arguments are an object; an empty text is no block."""
    found: Any = formatter().build_document(Outcome(text="", stop_reason=reason, calls=(CALL,)))
    assert (found["stop_reason"], found["id"]) == (shown, "msg_1")
    assert found["content"] == [
        {"type": "tool_use", "id": "c", "name": "look", "input": {"at": "sea"}}
    ]


def test_failure_ends_a_stream_with_its_reason() -> None:
    """As the client raises it."""
    (event,) = events(formatter().fail_stream(make_invalid_problem("x", "no")))
    error = {"type": "invalid_request_error", "message": "no"}
    assert event == {"type": "error", "error": error}
