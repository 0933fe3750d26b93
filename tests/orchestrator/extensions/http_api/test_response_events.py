"""The event stream of an answer: its order, its numbers, its end."""

import pytest

from orchestrator.extensions.http_api.response_events import Events, ResponseHead, ResponseStream
from orchestrator.extensions.http_api.stored_requests import HandedCall
from thinker.protocol.messages import JsonObject, Usage

HEAD = ResponseHead("resp_1", "work", 7, {"user": "me"})
ADD = HandedCall(id="call_1", name="add", arguments='{"a":1}')
PING = HandedCall(id="call_2", name="ping", arguments="")


def names(events: Events) -> list[str]:
    """What kinds of events these are."""
    return [event.event.removeprefix("response.") for event in events]


def response(events: Events) -> JsonObject:
    """The whole response in the event before the end mark."""
    data = events[-2].data
    assert isinstance(data, dict)
    found = data["response"]
    assert isinstance(found, dict)
    return found


def test_items_begin_grow_and_end_in_their_order() -> None:
    """Text, another text, two calls; sequence numbers count every event but the end mark."""
    stream = ResponseStream(HEAD)
    sent = (
        *stream.begin_response(),
        *stream.add_text("a"),
        *stream.close_text(),
        *stream.add_text("b"),
        *stream.add_call(ADD),
        *stream.add_call(PING),
        *stream.complete_response(),
    )
    opened = ["output_item.added", "content_part.added", "output_text.delta"]
    closed = ["output_text.done", "content_part.done", "output_item.done"]
    call = ["output_item.added", "function_call_arguments.done", "output_item.done"]
    assert names(sent) == [
        *("created", "in_progress"),
        *opened,
        *closed,
        *opened,
        *(call[0], "function_call_arguments.delta", *call[1:]),
        *call,
        *closed,
        *("completed", "done"),
    ]
    numbers = [e.data["sequence_number"] for e in sent if isinstance(e.data, dict)]
    assert numbers == list(range(1, len(sent)))
    output = response(sent)["output"]
    assert isinstance(output, list)
    items = [item for item in output if isinstance(item, dict)]
    assert [item["id"] for item in items] == ["msg_1_0", "msg_1_1", "fc_1_2", "fc_1_3"]
    assert {str(item["status"]) for item in items} == {"completed"}
    assert response(sent)["user"] == "me"


def test_nothing_follows_the_end() -> None:
    """Neither after a failure nor after the whole answer."""
    stream = ResponseStream(HEAD)
    failed = stream.fail_response("broken")
    assert names(failed) == ["created", "in_progress", "failed", "done"]
    assert response(failed)["error"] == {"code": "stream_adapter_error", "message": "broken"}
    late = (
        *stream.add_text("x"),
        *stream.add_call(ADD),
        *stream.complete_response(),
        *stream.fail_response("y"),
    )
    assert late == ()


@pytest.mark.parametrize(
    ("reason", "status", "why"),
    [
        ("stop", "completed", None),
        ("length", "incomplete", {"reason": "max_output_tokens"}),
        ("content_filter", "incomplete", {"reason": "content_filter"}),
    ],
)
def test_answer_that_was_cut_is_not_complete(reason: str, status: str, why: object) -> None:
    """Its reason is said, and what it used."""
    stream = ResponseStream(HEAD)
    stream.reason = reason
    stream.usage = Usage(prompt=3, completion=4, cached=1)
    sent = stream.complete_response()
    whole = response(sent)
    assert names(sent)[-2] == whole["status"] == status
    assert whole["incomplete_details"] == why
    assert whole["usage"] == {
        "input_tokens": 3,
        "input_tokens_details": {"cached_tokens": 1},
        "output_tokens": 4,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 7,
    }
