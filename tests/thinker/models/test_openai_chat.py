"""OpenAI's chat completions: the request as sent and the answer over real HTTP."""

from dataclasses import replace

import pytest
from anyio.abc import SocketStream
from fakes.model_api import PROMPT_TOKENS, Fault, Reply
from fakes.openai_api import CACHED_TOKENS, COMPLETION_TOKENS, OpenAIApi
from fakes.time_limit import time_limit

from thinker.models.base import ModelRequest
from thinker.models.endpoint import STANDARD_TIMEOUTS, ModelTimeouts
from thinker.models.failures import Account
from thinker.models.openai_chat import OpenAIChat, build_request_body
from thinker.protocol.messages import (
    AssistantMessage,
    Image,
    ToolCall,
    ToolChoice,
    ToolResult,
    ToolSpec,
    Usage,
    UserMessage,
)
from thinker.protocol.providers import PROVIDERS
from thinker.worker_errors import RetryableModelError

GROQ = Account(PROVIDERS["groq"], "m", "gsk-key")
TOOL = ToolSpec(name="get_time", description="Tells the time", parameters={"type": "object"})
TEXT = "Zwei Wörter\u2028und \U0001f600 mehr"


def model(api: OpenAIApi, timeouts: ModelTimeouts = STANDARD_TIMEOUTS) -> OpenAIChat:
    """Return a model that calls the fake."""
    return OpenAIChat(PROVIDERS["groq"], "m", f"{api.url}/v1/", "gsk-key", timeouts=timeouts)


def ask(text: str = "hello", shown: list[str] | None = None) -> ModelRequest:
    """Return a request; streamed if ``shown`` is given to receive the text."""
    on_text = None if shown is None else shown.append
    return ModelRequest(system="", messages=(UserMessage(content=text),), on_text=on_text)


def test_a_plain_request_has_no_field_too_many() -> None:
    """No nulls, no temperature, no tools, no stream by default."""
    assert build_request_body(GROQ, ask()) == {
        "model": "m",
        "messages": [{"role": "user", "content": "hello"}],
    }


async def test_each_request_has_the_tools_that_it_was_made_with() -> None:
    """Whatever the previous request had."""
    other = TOOL.model_copy(update={"name": "other"})
    offers = ((TOOL,), (TOOL,), (TOOL, other), (), (other,))
    async with OpenAIApi(lambda _: Reply(TEXT)) as api:
        groq = model(api)
        for tools in offers:
            await groq.complete(replace(ask(), tools=tools))
        await groq.aclose()
    sent = [
        [tool["function"]["name"] for tool in request.body.get("tools", ())]
        for request in api.requests
    ]
    assert sent == [[tool.name for tool in tools] for tools in offers]


def test_a_full_request_is_written_in_the_providers_words() -> None:
    """System first, then the history with images, calls and results, then options."""
    request = ModelRequest(
        system="Be kind.",
        messages=(
            UserMessage(content="look", images=(Image(media_type="image/png", data="QUJD"),)),
            AssistantMessage(
                tool_calls=(
                    ToolCall(id="1", name="get_time", arguments={"timezone": "UTC"}),
                    ToolCall(id="2", name="get_time", malformed="oops"),
                ),
                reasoning="not sent back",
            ),
            ToolResult(call_id="1", name="get_time", content="noon"),
            ToolResult(call_id="2", name="get_time", content="bad arguments", is_error=True),
            AssistantMessage(content="It is noon."),
            UserMessage(content="", images=(Image(media_type="image/png", data="QUJD"),)),
        ),
        tools=(TOOL,),
        tool_choice=ToolChoice(mode="required"),
        temperature=0.0,
        max_output_tokens=50,
        on_text=print,
    )
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}
    assert build_request_body(GROQ, request) == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": [{"type": "text", "text": "look"}, image]},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "1",
                        "type": "function",
                        "function": {"name": "get_time", "arguments": '{"timezone":"UTC"}'},
                    },
                    {
                        "id": "2",
                        "type": "function",
                        "function": {"name": "get_time", "arguments": "{}"},
                    },
                ],
            },
            {"role": "tool", "tool_call_id": "1", "content": "noon"},
            {"role": "tool", "tool_call_id": "2", "content": "bad arguments"},
            {"role": "assistant", "content": "It is noon."},
            {"role": "user", "content": [image]},
        ],
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "get_time",
                    "description": "Tells the time",
                    "parameters": {"type": "object"},
                },
            }
        ],
        "tool_choice": "required",
        "temperature": 0.0,
        "max_tokens": 50,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_openai_itself_gets_the_new_name_of_the_output_limit() -> None:
    """Its reasoning models reject max_tokens."""
    request = ModelRequest(system="", messages=(), max_output_tokens=5)
    body = build_request_body(Account(PROVIDERS["openai"], "m"), request)
    assert body["max_completion_tokens"] == 5
    assert "max_tokens" not in body


async def test_an_answer_in_one_piece_arrives() -> None:
    """The key goes in the header, the answer comes back with its usage."""
    async with OpenAIApi() as api:
        groq = model(api)
        with time_limit():
            response = await groq.complete(ask())
        await groq.aclose()
    assert response.message == AssistantMessage(content="echo: hello")
    assert response.usage == Usage(
        prompt=PROMPT_TOKENS, completion=COMPLETION_TOKENS, cached=CACHED_TOKENS
    )
    assert (groq.name, response.model, response.request_id) == ("groq/m", "groq/m", "chatcmpl-1")
    assert api.requests[0].path == "/v1/chat/completions"
    assert api.requests[0].headers["authorization"] == "Bearer gsk-key"


@pytest.mark.parametrize("chunk", [0, 1, 7])
async def test_streaming_gives_what_one_piece_gives(chunk: int) -> None:
    """Text, reasoning, calls and usage are the same; the text was shown as it grew."""
    reply = Reply(
        TEXT,
        tool_calls=(("get_time", {"timezone": "UTC"}), ("get_time", {})),
        reasoning="hmm",
        chunk=chunk,
    )
    shown: list[str] = []
    async with OpenAIApi(lambda _: reply) as api:
        groq = model(api)
        with time_limit():
            streamed = await groq.complete(ask(shown=shown))
            whole = await groq.complete(ask())
        await groq.aclose()
    assert streamed == whole
    assert streamed.message.content == TEXT
    assert [call.id for call in streamed.message.tool_calls] == ["call_fake_0", "call_fake_1"]
    assert shown[-1:] == ([TEXT] if chunk else [])  # what comes whole needs no view
    assert all(TEXT.startswith(text) for text in shown)
    assert len(shown) > 1 or chunk == 0


@pytest.mark.parametrize(
    ("fault", "streams"), [("cut", True), ("cut", False), ("broken_json", False)]
)
async def test_half_an_answer_is_no_answer(fault: Fault, *, streams: bool) -> None:
    """A cut connection and half a document are retryable."""
    async with OpenAIApi(lambda _: Reply("some words here", fault=fault)) as api:
        groq = model(api)
        with time_limit(), pytest.raises(RetryableModelError) as caught:
            await groq.complete(ask(shown=[] if streams else None))
        await groq.aclose()
    assert "gsk-key" not in str(caught.value)


@pytest.mark.parametrize(
    ("fault", "timeouts"),
    [
        ("hang", ModelTimeouts(first_token=0.05)),
        ("drip", ModelTimeouts(idle=0.05)),
        ("drip", ModelTimeouts(total=0.05)),
    ],
)
async def test_a_stalled_stream_is_given_up(fault: Fault, timeouts: ModelTimeouts) -> None:
    """No first token, silence between tokens and an endless answer each have a deadline."""
    async with OpenAIApi(lambda _: Reply("some words here", fault=fault)) as api:
        groq = model(api, timeouts)
        with time_limit(), pytest.raises(RetryableModelError, match="timed out"):
            await groq.complete(ask(shown=[]))
        await groq.aclose()


async def test_an_answer_in_one_piece_is_bounded_by_the_total() -> None:
    """It has no first token before it is whole."""
    async with OpenAIApi(lambda _: Reply(fault="hang")) as api:
        groq = model(api, ModelTimeouts(first_token=0.0, total=0.05))
        with time_limit(), pytest.raises(RetryableModelError, match="timed out"):
            await groq.complete(ask())
        await groq.aclose()


async def test_an_error_inside_a_stream_is_classified() -> None:
    """It counts like its status."""
    reply = Reply("overloaded", kind="overloaded_error", fault="error_event")
    async with OpenAIApi(lambda _: reply) as api:
        groq = model(api)
        with time_limit(), pytest.raises(RetryableModelError, match="groq answered 529"):
            await groq.complete(ask(shown=[]))
        await groq.aclose()


async def test_a_rate_limit_keeps_the_wait_that_was_asked_for() -> None:
    """Status, message and Retry-After reach the retries."""
    async with OpenAIApi() as api:
        api.script.append(Reply("slow down", status=429, headers={"retry-after": "3"}))
        groq = model(api)
        with time_limit(), pytest.raises(RetryableModelError, match="slow down") as caught:
            await groq.complete(ask())
        await groq.aclose()
    assert caught.value.retry_after == 3.0


@pytest.mark.parametrize(
    ("name", "advice"), [("ollama", "is it running"), ("openai", "check the network and baseUrl")]
)
async def test_a_server_that_is_not_there_is_named(name: str, advice: str) -> None:
    """With its address, and not with what else is in it."""
    async with OpenAIApi() as api:
        gone = api.url
    host = gone.removeprefix("http://").partition("/")[0]
    secret = gone.replace("//", "//user:canary@")
    missing = OpenAIChat(PROVIDERS[name], "m", secret, "")
    with time_limit(), pytest.raises(RetryableModelError, match=advice) as caught:
        await missing.complete(ask())
    await missing.aclose()
    assert f"{name} is unreachable at {host} (" in str(caught.value)
    assert "canary" not in str(caught.value)


class CountedApi(OpenAIApi):
    """Counts its connections."""

    connections = 0

    async def _serve_connection(self, stream: SocketStream) -> None:
        self.connections += 1
        await super()._serve_connection(stream)


async def test_connection_is_kept_after_a_streamed_answer() -> None:
    """A new one costs a TLS handshake; the stream continues after its end mark."""
    async with CountedApi() as api:
        asked = model(api)
        for _ in range(3):
            assert (await asked.complete(ask(shown=[]))).message.content == "echo: hello"
        await asked.aclose()
    assert api.connections == 1
