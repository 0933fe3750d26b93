"""The event stream of an answer: its order, its numbers, its end."""

import pytest

from thinker.protocol.messages import JsonObject, Usage
from thinker.protocol.responses_events import Events, ResponseHead, ResponseStream

HEAD = ResponseHead("resp_1", "msg_1", "work", 7)


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


def test_calls_are_numbered_and_keep_their_place_in_the_text() -> None:
    """Text, call, text, call; sequence numbers count every event but the end mark."""
    stream = ResponseStream(HEAD)
    sent = (
        *stream.text("a"),
        *stream.call("add", '{"a":1}'),
        *stream.text("b"),
        *stream.call("ping", ""),
        *stream.complete(),
    )
    call = ["output_item.added", "function_call_arguments.done", "output_item.done"]
    assert names(sent) == [
        *("created", "output_text.delta"),
        *(call[0], "function_call_arguments.delta", *call[1:]),
        "output_text.delta",
        *call,
        *("output_text.done", "completed", "done"),
    ]
    numbers = [e.data["sequence_number"] for e in sent if isinstance(e.data, dict)]
    assert numbers == list(range(1, len(sent)))
    output = response(sent)["output"]
    assert isinstance(output, list)
    assert [item.get("id") for item in output if isinstance(item, dict)] == [
        "msg_1",
        "fc_001",
        "fc_002",
    ]


def test_nothing_follows_the_end() -> None:
    """Neither after a failure nor after the whole answer."""
    stream = ResponseStream(HEAD)
    assert names(stream.fail("broken")) == ["created", "failed", "done"]
    late = (*stream.text("x"), *stream.call("add", "{}"), *stream.complete(), *stream.fail("y"))
    assert late == ()


@pytest.mark.parametrize(
    ("reasons", "status"),
    [
        (("stop",), "completed"),
        (("length",), "incomplete"),
        (("error", "length"), "failed"),
        (("content_filter", "stop"), "incomplete"),
        ((), "completed"),
    ],
)
def test_worst_reason_is_the_status(reasons: tuple[str, ...], status: str) -> None:
    """An answer that was cut is not complete."""
    stream = ResponseStream(HEAD)
    for reason in reasons:
        stream.finished(reason)
    stream.usage(Usage(prompt=3, completion=4))
    whole = response(stream.complete())
    assert whole["status"] == status
    assert whole["usage"] == {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
