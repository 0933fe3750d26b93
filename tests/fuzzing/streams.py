"""Providers' streams as they come in, and our own as they go out."""

import re
from collections import defaultdict
from typing import Any

import orjson
from fuzzing.target import CUTS, Target, pieces
from hypothesis import strategies as st

from orchestrator.extensions.anthropic.worker.anthropic_answer import AnthropicAnswer
from orchestrator.extensions.http_api.response_events import Events, ResponseHead, ResponseStream
from orchestrator.extensions.http_api.stored_requests import HandedCall
from thinker.models.base import ModelResponse
from thinker.models.failures import parse_stated_error
from thinker.models.openai_answer import OpenAIAnswer
from thinker.models.streaming import EventReader
from thinker.protocol.messages import Usage

HEAD = ResponseHead("resp_1", "work", 7, {})
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 99) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)
TEXT = st.text(max_size=6) | VALUES


def some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """An object with any of these fields; now and then something else altogether."""
    return st.fixed_dictionaries({}, optional=fields) | VALUES


FUNCTION = some(name=st.sampled_from(("add", "")) | TEXT, arguments=TEXT)
CALL = some(index=st.integers(0, 2) | VALUES, id=TEXT, function=FUNCTION)
PART = some(content=TEXT, reasoning=TEXT, refusal=TEXT, tool_calls=st.lists(CALL, max_size=2))
CHOICE = some(delta=PART, message=PART, finish_reason=st.sampled_from(("stop", "length")) | TEXT)
USAGE = some(prompt_tokens=VALUES, completion_tokens=VALUES, input_tokens=VALUES)
OPENAI = some(id=TEXT, model=TEXT, choices=st.lists(CHOICE, max_size=2), usage=USAGE, error=VALUES)
KINDS = (
    *("message", "message_start", "message_delta", "message_stop", "ping"),
    *("content_block_start", "content_block_delta", "content_block_stop"),
)
BLOCK = some(type=st.sampled_from(("text", "tool_use", "thinking")), text=TEXT, id=TEXT, name=TEXT)
DELTA = some(text=TEXT, thinking=TEXT, partial_json=TEXT, stop_reason=TEXT)
MESSAGE = some(id=TEXT, content=st.lists(BLOCK, max_size=2), usage=USAGE, stop_reason=TEXT)
ANTHROPIC = st.fixed_dictionaries(
    {"type": st.sampled_from(KINDS)},
    optional={
        "index": st.integers(0, 2),
        "message": MESSAGE,
        "content_block": BLOCK,
        "delta": DELTA,
        "usage": USAGE,
        "content": st.lists(BLOCK, max_size=2),
    },
)
FRAME = st.builds(
    lambda name, data, end: name + b"data:" + data + end,
    st.sampled_from((b"", b": hi\n", b"event: x\r\n", b"data: \n")),
    (OPENAI | ANTHROPIC).map(orjson.dumps) | st.sampled_from((b"[DONE]", b"{", b"")),
    st.sampled_from((b"\n\n", b"\r\n\r\n", b"\n", b"")),
)
SAID = st.text(min_size=1, max_size=300)
GROWING = st.one_of(  # what long answers are made of
    SAID.map(lambda text: {"choices": [{"delta": {"content": text}}]}),
    SAID.map(lambda text: {"choices": [{"delta": {"tool_calls": [_argument(text)]}}]}),
    SAID.map(lambda text: {"type": "content_block_delta", "delta": {"text": text}}),
).map(lambda event: b"data: " + orjson.dumps(event) + b"\n\n")
STEPS = st.lists(
    st.text(max_size=5) | st.sampled_from(("call", "close", "usage", "fail", "complete")),
    max_size=12,
)


def _argument(text: str) -> Any:
    return {"index": 0, "id": "1", "function": {"name": "add", "arguments": text}}


def check_streams(given: tuple[list[bytes], list[int], list[str]]) -> None:
    """In: any bytes, cut anywhere, are an answer or a ValueError. Out: a whole response."""
    frames, cuts, steps = given
    stream = b"".join(frames)
    events = _read([stream])
    assert _read(pieces(stream, cuts)) == events
    assert _read([stream[n : n + 1] for n in range(len(stream))]) == events
    for data in events:
        parse_stated_error(data)
    for collector in (OpenAIAnswer("openai", "m"), AnthropicAnswer("anthropic", "m")):
        _collect(collector, events)
    _check_response(steps)


def _read(chunks: list[bytes]) -> list[bytes]:
    reader = EventReader()
    return [event for chunk in chunks for event in reader.feed(chunk)] + reader.close()


def _collect(collector: OpenAIAnswer | AnthropicAnswer, events: list[bytes]) -> ModelResponse:
    for data in events:
        try:
            if collector.feed(data):
                break
        except ValueError:
            continue
    return collector.build_response("r")


def _check_response(steps: list[str]) -> None:
    """Numbers count every event, items begin and end once, deltas add up to what is whole."""
    stream = ResponseStream(HEAD)
    sent: list[Any] = list(stream.begin_response())
    for step in steps:
        sent += _step(stream, step)
    sent += stream.complete_response()
    assert [event.data for event in sent].count("[DONE]") == 1
    events = [event.data for event in sent[:-1]]
    assert [data["sequence_number"] for data in events] == list(range(1, len(events) + 1))
    last = events[-1]
    if last["type"] == "response.failed":
        return
    written: defaultdict[str, list[str]] = defaultdict(list)
    for data in events:
        if data["type"].endswith(".delta"):
            written[data["item_id"]].append(data["delta"])
    for item in last["response"]["output"]:
        whole = item.get("arguments") or "".join(part["text"] for part in item.get("content", ()))
        assert item["status"] == "completed"
        assert "".join(written[item["id"]]) == whole


def _step(stream: ResponseStream, step: str) -> Events:
    match step:
        case "call":
            return stream.add_call(HandedCall(id="c", name="add", arguments="{}"))
        case "close":
            return stream.close_text()
        case "usage":
            stream.usage = Usage(prompt=1)
            return ()
        case "fail":
            return stream.fail_response("broken")
        case "complete":
            return stream.complete_response()
    return stream.add_text(step)


def _sized(frame: bytes, size: int) -> Any:
    stream = frame * max(1, size // len(frame))
    text = re.sub(rb"\s", b"", frame).decode("utf-8", "replace")

    def work() -> None:
        events = _read([stream[start : start + 64] for start in range(0, len(stream), 64)])
        for collector in (OpenAIAnswer("openai", "m"), AnthropicAnswer("anthropic", "m")):
            _collect(collector, events)
        _check_response([text] * (size // 100))

    return work


TARGETS = {
    "streams": Target(
        st.tuples(st.lists(FRAME, max_size=8), CUTS, STEPS), check_streams, FRAME | GROWING, _sized
    )
}
