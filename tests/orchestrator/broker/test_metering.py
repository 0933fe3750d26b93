"""What an answer used, counted on its way."""

import json
from typing import Any

import pytest

from orchestrator.broker.broker_wire import CountsFormat
from orchestrator.broker.metering import Meter
from thinker.protocol.messages import Usage

COUNTS = {
    "prompt_tokens": 90,
    "completion_tokens": 12,
    "prompt_tokens_details": {"cached_tokens": 40},
}
OPENAI = Usage(prompt=90, completion=12, cached=40)
ANTHROPIC = Usage(prompt=65, completion=9, cached=50, cache_written=5)
STARTED = {"input_tokens": 10, "cache_read_input_tokens": 50, "cache_creation_input_tokens": 5}
SENT = b'{"messages": "0123456789"}'  # 26 bytes


def chunk(text: str = "", **fields: object) -> bytes:
    """One chunk of a completion."""
    choices = [{"index": 0, "delta": {"content": text}}]
    return b"data: " + json.dumps({"model": "m", "choices": choices, **fields}).encode() + b"\n\n"


def event(**fields: object) -> bytes:
    """One event of Anthropic's."""
    return b"event: x\ndata: " + json.dumps(fields).encode() + b"\n\n"


def counted(
    data: bytes, counts: CountsFormat = "openai", size: int = 1 << 20, *, streamed: bool = True
) -> tuple[str, Usage, bool]:
    """Feed an answer in pieces of a size."""
    meter = Meter(counts, streamed=streamed)
    for start in range(0, len(data), size):
        meter.feed(data[start : start + size])
    return meter.build_result(SENT)


COMPLETION = json.dumps(
    {"model": "m", "choices": [{"message": {"content": "x"}}], "usage": COUNTS}
).encode()
STREAM = b"".join(
    (
        chunk("Hel", usage=None),
        chunk('{"usage": {"prompt_tokens": 1}}', usage=None),
        chunk(choices=[], usage=COUNTS),
        b"data: [DONE]\n\n",
    )
)
MESSAGE = json.dumps(
    {
        "type": "message",
        "model": "m",
        "content": [{"type": "tool_use", "input": {"usage": {"input_tokens": 1}}}],
        "usage": {**STARTED, "output_tokens": 9},
    }
).encode()
EVENTS = b"".join(
    (
        event(
            type="message_start",
            message={"model": "m", "usage": {**STARTED, "output_tokens": 1}},
        ),
        event(type="content_block_delta", delta={"text": '"usage": {"output_tokens": 9000}'}),
        event(type="message_delta", delta={}, usage={"output_tokens": 9}),
        event(type="message_stop"),
    )
)


@pytest.mark.parametrize("size", [1, 7, 64, 1 << 20])
@pytest.mark.parametrize(
    ("data", "counts", "usage"),
    [
        (COMPLETION, "openai", OPENAI),
        (STREAM, "openai", OPENAI),
        (STREAM.replace(b"\n", b"\r\n"), "openai", OPENAI),
        (STREAM.removesuffix(b"data: [DONE]\n\n").rstrip(), "openai", OPENAI),
        (MESSAGE, "anthropic", ANTHROPIC),
        (EVENTS, "anthropic", ANTHROPIC),
    ],
    ids=["completion", "stream", "crlf", "no end", "message", "events"],
)
def test_counts_of_the_provider_are_read_however_they_arrive(
    data: bytes, counts: CountsFormat, usage: Usage, size: int
) -> None:
    """Whole or streamed, in any pieces; texts that look like counts do not matter."""
    streamed = not data.startswith(b"{")
    assert counted(data, counts, size, streamed=streamed) == ("m", usage, False)


def test_embeddings_count_their_input() -> None:
    """They have no completion."""
    data = b'{"model": "e", "data": [], "usage": {"prompt_tokens": 8, "total_tokens": 8}}'
    assert counted(data, streamed=False) == ("e", Usage(prompt=8), False)


def test_newest_counts_of_a_stream_win() -> None:
    """Some servers send them with every chunk."""
    early = chunk("a", usage={"prompt_tokens": 90, "completion_tokens": 1})
    assert counted(early + chunk("b", usage=COUNTS))[1] == OPENAI


@pytest.mark.parametrize("counts", ["openai", "anthropic"])
def test_answer_without_counts_is_estimated(counts: CountsFormat) -> None:
    """Four characters of the request a token; an event of a stream, or four characters."""
    stream = chunk("a") * 5
    assert counted(stream, counts) == ("", Usage(prompt=7, completion=5), True)
    whole = counted(b"x" * 40, counts, streamed=False)
    assert whole == ("", Usage(prompt=7, completion=10), True)


def test_pictures_are_estimated_by_number() -> None:
    """Their text would count too much."""
    meter = Meter("openai", streamed=True)
    _, usage, _ = meter.build_result(b'{"data": "' + b"A" * 1_000_000 + b'"}')
    assert 1500 <= usage.prompt < 1510


def test_answer_that_breaks_off_counts_what_was_streamed() -> None:
    """The counts at its beginning say nothing of its length."""
    meter = Meter("anthropic", streamed=True)
    meter.feed(EVENTS.split(b'event: x\ndata: {"type": "message_delta"')[0])
    for _ in range(20):
        meter.feed(event(type="content_block_delta", delta={"text": "w"}))
    model, usage, guessed = meter.build_result(SENT, cut=True)
    assert (model, usage.prompt, usage.completion, guessed) == ("m", 65, 22, True)


def test_line_without_an_end_takes_a_bounded_room() -> None:
    """A provider cannot fill the broker's memory."""
    meter = Meter("openai", streamed=True)
    for _ in range(100):
        meter.feed(b"x" * 100_000)
    assert len(meter._line) <= 1 << 20


def test_sound_and_pictures_count_what_their_answer_says() -> None:
    """Nothing is estimated: a recording's size is no measure of its words."""
    told = b'{"text": "hi", "usage": {"type": "tokens", "input_tokens": 14, "output_tokens": 5}}'
    assert counted(told, "stated", streamed=False) == ("", Usage(prompt=14, completion=5), False)
    assert counted(b'{"text": "hi"}', "stated", streamed=False) == ("", Usage(), False)
    assert counted(b"OggS\ndata: x\n" * 9, "stated") == ("", Usage(), False)


@pytest.mark.parametrize(
    "fields",
    [
        {"usage": {"prompt_tokens": 90, "completion_tokens": 12, "prompt_cache_hit_tokens": 40}},
        {"usage": {"prompt_tokens": 90, "completion_tokens": 12, "cached_tokens": 40}},
        {"usage": {"prompt_tokens": 90, "completion_tokens": 12, "cache_read_input_tokens": 40}},
        {"choices": [{"usage": COUNTS}]},
        {"x_groq": {"usage": COUNTS}},
    ],
)
def test_tokens_from_a_cache_are_found_under_every_name(fields: dict[str, Any]) -> None:
    """Those of DeepSeek and Moonshot, of Claude behind a proxy, and in other places."""
    assert counted(chunk(**fields))[1] == OPENAI
