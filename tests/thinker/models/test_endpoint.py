"""The transport of a model call: what servers do that no fake API would."""

import hashlib
import json
from collections.abc import AsyncIterator
from itertools import count

import anyio
import pytest
from fakes.network import AnsweringNetwork, Asked, Chunks, answered
from fakes.time_limit import time_limit

from thinker.http.exchange import HttpAnswer, WholeAnswer
from thinker.models import endpoint
from thinker.models.base import ModelRequest, ModelResponse
from thinker.models.call_meter import CallMeter, compute_body_digest
from thinker.models.endpoint import STANDARD_TIMEOUTS, ModelTimeouts
from thinker.models.openai_chat import OpenAIChat
from thinker.protocol.call_timing import CallAttempt, CallTiming
from thinker.protocol.messages import UserMessage
from thinker.protocol.providers import PROVIDERS
from thinker.worker_errors import FatalModelError, RetryableModelError

IDLE = 0.4  # seconds
STREAM = {"content-type": "text/event-stream"}
FINISHED = b'data: {"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\n'
WHOLE = {"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}


async def ask(
    *responses: HttpAnswer,
    stream: bool = True,
    temperature: float | None = None,
    timeouts: ModelTimeouts = STANDARD_TIMEOUTS,
    repeat: int = 1,
) -> tuple[ModelResponse, list[dict[str, object]]]:
    """Call a model that answers with ``responses``; return the last answer and all requests."""
    bodies: list[dict[str, object]] = []
    queue = iter(responses)

    def answer(request: Asked) -> HttpAnswer:
        bodies.append(json.loads(request.body))
        return next(queue)

    transport = AnsweringNetwork(answer)
    model = OpenAIChat(
        PROVIDERS["openai"], "m", "https://provider.test/v1", "sk-key", transport, timeouts
    )
    request = ModelRequest(
        system="",
        messages=(UserMessage(content="q"),),
        temperature=temperature,
        on_text=(lambda _: None) if stream else None,
    )
    try:
        with time_limit():
            for _ in range(repeat):
                response = await model.complete(request)
    finally:
        await model.aclose()
    return response, bodies


@pytest.mark.parametrize("then", ["end", "break"])
async def test_a_stream_that_ends_after_its_finish_is_whole(then: str) -> None:
    """[DONE] may be missing, and the connection may break after the finish reason."""
    response, _ = await ask(Chunks(FINISHED, then=then, headers=STREAM))
    assert response.message.content == "hi"


async def test_a_stream_that_stays_open_after_its_finish_is_whole() -> None:
    """The wait for more is short."""
    body = Chunks(FINISHED, then="hang", headers=STREAM)
    response, _ = await ask(body, timeouts=ModelTimeouts(total=1))
    assert response.message.content == "hi"


class Commented(HttpAnswer):
    """A stream that goes on, after comments for longer than the wait between events."""

    async def iter_pieces(self) -> AsyncIterator[bytes]:
        yield b'data: {"choices":[{"delta":{"content":"hi "}}]}\n\n'
        for _ in range(15):
            await anyio.sleep(IDLE / 10)
            yield b": waiting\n\n"
        yield FINISHED

    def close(self) -> None:
        """There is nothing to let go of."""


async def test_comments_keep_a_begun_stream_alive() -> None:
    """A server that reasons in silence says that it is there."""
    body = Commented(200, STREAM)
    response, _ = await ask(body, timeouts=ModelTimeouts(idle=IDLE))
    assert response.message.content == "hi hi"


async def test_usage_after_the_finish_is_still_read() -> None:
    """It arrives in a chunk of its own."""
    usage = b'data: {"choices":[],"usage":{"prompt_tokens":3}}\n\ndata: [DONE]\n\n'
    body = Chunks(b": comment\n\ndata:\n\n", FINISHED, usage, then="hang", headers=STREAM)
    response, _ = await ask(body)
    assert response.usage.prompt == 3


async def test_a_stream_without_finish_was_cut() -> None:
    """A clean end of the connection does not end the answer."""
    body = Chunks(b'data: {"choices":[{"delta":{"content":"hi"}}]}\n\n', headers=STREAM)
    with pytest.raises(RetryableModelError, match="cut its answer short"):
        await ask(body)


async def test_a_whole_answer_to_a_streamed_question_is_read() -> None:
    """Some servers do not stream."""
    response, _ = await ask(answered(WHOLE))
    assert response.message.content == "hi"


@pytest.mark.parametrize("noise", [b"data: {half\n\n", b"data: busy\n\n", b"data: 5\n\n"])
async def test_a_part_that_cannot_be_read_is_skipped(noise: bytes) -> None:
    """Gateways add words of their own."""
    response, _ = await ask(Chunks(noise, FINISHED, noise, headers=STREAM))
    assert response.message.content == "hi"


async def test_calls_that_may_lack_a_part_never_run() -> None:
    """What remains of the arguments may still be JSON."""
    function = b'{"index":0,"id":"1","function":{"name":"a","arguments":"{\\"n\\":1}"}}'
    begun = b'data: {"choices":[{"delta":{"tool_calls":[' + function + b"]}}]}\n\n"
    body = Chunks(begun, b"data: {half\n\n", FINISHED, headers=STREAM)
    with pytest.raises(RetryableModelError, match=r"unreadable answer: \{half"):
        await ask(body)


@pytest.mark.parametrize("kind", ["application/json", "application/x-ndjson", "text/plain"])
async def test_lines_of_json_are_read_whatever_their_type(kind: str) -> None:
    """Ollama's stream, under any name."""
    lines = b'{"message":{"content":"h"}}\n{"message":{"content":"i"},"done":true}\n'
    response, _ = await ask(Chunks(lines, headers={"content-type": kind}))
    assert response.message.content == "hi"


async def test_events_are_read_where_one_answer_was_asked_for() -> None:
    """Some servers always stream."""
    response, _ = await ask(WholeAnswer(200, FINISHED), stream=False)
    assert response.message.content == "hi"


@pytest.mark.parametrize("stream", [True, False])
async def test_a_web_page_is_called_one(*, stream: bool) -> None:
    """The address is wrong, or a gateway answers in the provider's place."""
    with pytest.raises(RetryableModelError, match="a web page; check baseUrl: <html>"):
        await ask(WholeAnswer(200, b"<html>\nbusy"), stream=stream)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b'{"code":"x","error":"overloaded now"}', "openai answered 500: overloaded now"),
        (b'{"error":{"code":429,"message":"slow"},"choices":null}', "answered 429: slow"),
        (b'{"base_resp":{"status_code":1002,"status_msg":"rate"}}', "answered 429: rate"),
        (b'{"object":"error","message":"sorry","code":503}', "answered 503: sorry"),
        (b'{"type":"error","error":{"type":"overloaded_error","message":"x"}}', "answered 529"),
        (b'[{"error":{"code":503,"message":"gone"}}]', "answered 503: gone"),
    ],
)
@pytest.mark.parametrize("frame", [b"%b", b"data: %b\n\n"])
async def test_an_error_within_success_is_an_error(body: bytes, problem: str, frame: bytes) -> None:
    """As the body, or in a stream."""
    with pytest.raises(RetryableModelError, match=problem):
        await ask(Chunks(frame % body, headers=STREAM))


async def test_every_attempt_of_a_call_is_measured() -> None:
    """With its status and why it failed; the first event counts of the answer that came whole."""
    ticks = count(1)
    answers = iter((Chunks(b"busy", status=503), Chunks(FINISHED, headers=STREAM)))
    network = AnsweringNetwork(lambda _: next(answers))
    request = ModelRequest(
        "", (UserMessage(content="q"),), on_text=print, meter=CallMeter(lambda: next(ticks))
    )
    model = OpenAIChat(PROVIDERS["openai"], "m", "https://provider.test/v1", "sk-key", network)
    with pytest.raises(RetryableModelError):
        await model.complete(request)
    await model.complete(request)
    await model.aclose()
    digests = [compute_body_digest(asked.body) for asked in network.requests]
    assert request.meter.build_timing() == CallTiming(
        began=1,
        ended=7,
        first=5,
        attempts=(
            CallAttempt(
                model="openai/m",
                began=2,
                ended=3,
                status=503,
                error="openai answered 503",
                digest=digests[0],
            ),
            CallAttempt(model="openai/m", began=4, ended=6, status=200, digest=digests[1]),
        ),
        sent=sum(len(asked.body) for asked in network.requests),
        got=len(b"busy") + len(FINISHED),
    )


async def test_digest_and_fields_left_out_tell_requests_apart() -> None:
    """The digest is of the bytes that the server got; a later call goes without the field."""
    refusal = {"error": {"message": "'temperature' is not supported with this model"}}
    answers = iter((answered(refusal, 400), answered(WHOLE), answered(WHOLE)))
    network = AnsweringNetwork(lambda _: next(answers))
    model = OpenAIChat(PROVIDERS["openai"], "m", "https://provider.test/v1", "sk-key", network)
    attempts: list[CallAttempt] = []
    for _ in range(2):
        request = ModelRequest("", (UserMessage(content="q"),), temperature=0.4)
        await model.complete(request)
        attempts += request.meter.build_timing().attempts
    await model.aclose()
    got = [hashlib.sha256(asked.body).hexdigest()[:32] for asked in network.requests]
    assert [attempt.digest for attempt in attempts] == got
    assert len({*got}) == 2
    assert [attempt.left_out for attempt in attempts] == [(), ("temperature",), ("temperature",)]


async def test_the_providers_request_id_is_kept() -> None:
    """The provider's support needs the one in the header."""
    response, _ = await ask(
        answered({**WHOLE, "id": "c"}, headers={"x-request-id": "r"}), stream=False
    )
    assert response.request_id == "r"


@pytest.mark.parametrize("content", [b"<html>busy</html>", b'{"foo":1}', b"", b"\xff\xfe"])
async def test_an_answer_of_another_shape_is_quoted(content: bytes) -> None:
    """The operator sees its beginning."""
    with pytest.raises(RetryableModelError, match="unreadable answer") as caught:
        await ask(WholeAnswer(200, content), stream=False)
    assert content[1:5].decode("utf-8", "replace") in str(caught.value)


@pytest.mark.parametrize("stream", [True, False])
async def test_an_answer_without_end_is_cut_off(*, stream: bool) -> None:
    """An endless line does not fill the memory."""
    piece = b"x" * (endpoint.MAX_RESPONSE // 4)
    body = Chunks(*[piece] * 5, then="hang", headers=STREAM)
    with pytest.raises(RetryableModelError, match="sent more than"):
        await ask(body, stream=stream)


async def test_an_error_whose_body_is_cut_keeps_its_status() -> None:
    """The status suffices to classify it."""
    body = Chunks(b'{"err', then="break", status=503)
    with pytest.raises(RetryableModelError, match="openai answered 503"):
        await ask(body)


async def test_a_model_that_takes_no_temperature_is_asked_without() -> None:
    """The call is repeated once, and later calls leave the temperature out."""
    refusal = {"error": {"message": "'temperature' is not supported with this model"}}
    _, bodies = await ask(
        answered(refusal, 400),
        answered(WHOLE),
        answered(WHOLE),
        stream=False,
        temperature=0.4,
        repeat=2,
    )
    assert ["temperature" in body for body in bodies] == [True, False, False]


async def test_a_complaint_about_temperature_without_one_is_final() -> None:
    """There is nothing left to remove."""
    refusal = {"error": {"message": "temperature?"}}
    with pytest.raises(FatalModelError):
        await ask(answered(refusal, 400), stream=False)


async def test_an_answer_that_repeats_itself_is_ended() -> None:
    """What came before is kept, and the server is not read any further."""
    piece = b'data: {"choices":[{"delta":{"content":"I am a model. "}}]}\n\n'
    body = Chunks(*[piece] * 200, then="hang", headers=STREAM)
    response, _ = await ask(body, timeouts=ModelTimeouts(total=60))
    assert (response.message.content, response.finish) == ("I am a model.", "repeated")
