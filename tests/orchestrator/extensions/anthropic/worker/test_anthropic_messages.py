"""Anthropic's Messages API: the request as sent and the answer over real HTTP."""

from typing import Any

import pytest
from fakes.anthropic_api import CACHE_READ, CACHE_WRITTEN, INPUT_TOKENS, OUTPUT_TOKENS, AnthropicApi
from fakes.model_api import Fault, Reply
from fakes.time_limit import time_limit

from orchestrator.extensions.anthropic.worker.anthropic_messages import (
    EARLIER,
    AnthropicMessages,
    build_request_body,
)
from thinker.models.base import ModelRequest
from thinker.models.call_meter import compute_body_digest
from thinker.models.endpoint import ModelTimeouts
from thinker.models.failures import Account
from thinker.protocol.messages import (
    AssistantMessage,
    Extras,
    Image,
    JsonObject,
    Message,
    Reasoning,
    ToolCall,
    ToolChoice,
    ToolResult,
    ToolSpec,
    Usage,
    UserMessage,
)
from thinker.protocol.providers import PROVIDERS
from thinker.worker_errors import (
    AccountError,
    ContextOverflowError,
    FatalModelError,
    ModelError,
    RetryableModelError,
)

CACHE = {"cache_control": {"type": "ephemeral"}}
TOOL = ToolSpec(name="get_time", description="Tells the time", parameters={"type": "object"})
OTHER = TOOL.model_copy(update={"name": "other"})
CLAUDE = Account(PROVIDERS["anthropic"], "m")
QUICK = ModelTimeouts(first_token=0.05)


def model(api: AnthropicApi, timeouts: ModelTimeouts | None = None) -> AnthropicMessages:
    """Return a model that calls the fake."""
    provider = PROVIDERS["anthropic"]
    return AnthropicMessages(provider, "m", api.url, "key", timeouts=timeouts or ModelTimeouts())


def ask(shown: list[str] | None = None) -> ModelRequest:
    """Return a request; streamed if ``shown`` is given to receive the text."""
    on_text = None if shown is None else shown.append
    return ModelRequest(system="", messages=(UserMessage(content="hello"),), on_text=on_text)


def wire(*messages: Message) -> Any:
    """Return the messages as sent."""
    return build_request_body(CLAUDE, ModelRequest(system="", messages=messages))["messages"]


def text(content: str, **more: Any) -> dict[str, Any]:
    """A text block."""
    return {"type": "text", "text": content, **more}


def test_a_plain_request_has_no_field_too_many() -> None:
    """The output limit is the only option that the API requires."""
    assert build_request_body(CLAUDE, ask()) == {
        "model": "m",
        "max_tokens": 8192,
        "messages": [{"role": "user", "content": [text("hello", **CACHE)]}],
    }


def test_a_full_request_has_four_cache_breakpoints() -> None:
    """After the tools, after the system prompt and after the last two user messages."""
    request = ModelRequest(
        system="Be kind.",
        messages=(
            UserMessage(content="look", images=(Image(media_type="image/png", data="QUJD"),)),
            AssistantMessage(
                content="I look.",
                tool_calls=(
                    ToolCall(id="1", name="get_time", arguments={"a": 1}),
                    ToolCall(id="2", name="other", malformed="oops"),
                ),
            ),
            ToolResult(call_id="1", name="get_time", content="noon"),
            ToolResult(call_id="2", name="other", content="bad", is_error=True),
            UserMessage(content="and?"),
        ),
        tools=(TOOL, OTHER),
        tool_choice=ToolChoice(mode="required"),
        temperature=1.5,
        max_output_tokens=50,
        on_text=print,
    )
    image = {"type": "base64", "media_type": "image/png", "data": "QUJD"}
    tool = {"description": "Tells the time", "input_schema": {"type": "object"}}
    assert build_request_body(CLAUDE, request) == {
        "model": "m",
        "max_tokens": 50,
        "tools": [{"name": "get_time", **tool}, {"name": "other", **tool, **CACHE}],
        "tool_choice": {"type": "any"},
        "system": [text("Be kind.", **CACHE)],
        "messages": [
            {
                "role": "user",
                "content": [text("look"), {"type": "image", "source": image, **CACHE}],
            },
            {
                "role": "assistant",
                "content": [
                    text("I look."),
                    {"type": "tool_use", "id": "1", "name": "get_time", "input": {"a": 1}},
                    {"type": "tool_use", "id": "2", "name": "other", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "1", "content": "noon"},
                    {
                        "type": "tool_result",
                        "tool_use_id": "2",
                        "content": "bad",
                        "is_error": True,
                    },
                    text("and?", **CACHE),
                ],
            },
        ],
        "temperature": 1.0,
        "stream": True,
    }


def test_a_history_that_begins_with_an_answer_gets_a_user_message_before_it() -> None:
    """The API requires a user message first; nothing of the history is dropped."""
    assert wire(AssistantMessage(content="hi"), UserMessage(content="yes")) == [
        {"role": "user", "content": [text(EARLIER, **CACHE)]},
        {"role": "assistant", "content": [text("hi")]},
        {"role": "user", "content": [text("yes", **CACHE)]},
    ]


def test_messages_of_one_role_become_one() -> None:
    """Roles must alternate, and blank text is rejected."""
    assert wire(
        UserMessage(content="a"),
        AssistantMessage(content=" "),
        UserMessage(content="b"),
        UserMessage(content=""),
    ) == [{"role": "user", "content": [text("a"), text("b", **CACHE)]}]


def test_ids_of_other_providers_are_made_acceptable() -> None:
    """They match the API's pattern and are unique in the conversation, results included."""
    step: tuple[Message, ...] = (
        AssistantMessage(tool_calls=(ToolCall(id="functions.a:0", name="a"),)),
        ToolResult(call_id="functions.a:0", name="a", content="x"),
    )
    blocks = [m["content"][0] for m in wire(UserMessage(content="q"), *step, *step)[1:]]
    assert [block.get("id") or block["tool_use_id"] for block in blocks] == [
        "functions_a_0",
        "functions_a_0",
        "functions_a_0_2",
        "functions_a_0_2",
    ]


async def test_an_answer_in_one_piece_arrives() -> None:
    """Key and version go in headers; cached tokens count as prompt tokens."""
    async with AnthropicApi() as api:
        claude = model(api)
        with time_limit():
            response = await claude.complete(ask())
        await claude.aclose()
    assert response.message == AssistantMessage(content="echo: hello")
    assert response.usage == Usage(
        prompt=INPUT_TOKENS + CACHE_READ + CACHE_WRITTEN,
        completion=OUTPUT_TOKENS,
        cached=CACHE_READ,
        cache_written=CACHE_WRITTEN,
    )
    assert (claude.name, response.request_id) == ("anthropic/m", "msg_1")
    received = api.requests[0]
    assert received.path == "/v1/messages"
    assert received.headers["x-api-key"] == "key"
    assert received.headers["anthropic-version"] == "2023-06-01"
    assert "authorization" not in received.headers


async def test_request_is_recorded_by_the_digest_of_its_bytes() -> None:
    """By which one that is built again can be told to be the same."""
    request = ask([])
    async with AnthropicApi() as api:
        claude = model(api)
        with time_limit():
            await claude.complete(request)
        await claude.aclose()
    (attempt,) = request.meter.build_timing().attempts
    assert attempt.digest == compute_body_digest(api.requests[0].content)


@pytest.mark.parametrize("chunk", [0, 1, 7])
async def test_streaming_gives_what_one_piece_gives(chunk: int) -> None:
    """Text, thinking, calls and usage are the same; the text was shown as it grew."""
    reply = Reply(
        "Zwei Wörter\u2028und \U0001f600 mehr",
        tool_calls=(("get_time", {"timezone": "UTC"}), ("get_time", {})),
        reasoning="hmm",
        chunk=chunk,
    )
    shown: list[str] = []
    async with AnthropicApi(lambda _: reply) as api:
        claude = model(api)
        with time_limit():
            streamed = await claude.complete(ask(shown))
            whole = await claude.complete(ask())
        await claude.aclose()
    assert streamed == whole
    assert streamed.message.content == reply.text
    assert streamed.message.reasoning == "hmm"
    assert streamed.message.tool_calls == (
        ToolCall(id="toolu_0", name="get_time", arguments={"timezone": "UTC"}),
        ToolCall(id="toolu_1", name="get_time"),
    )
    assert shown[-1:] == ([reply.text] if chunk else [])  # what comes whole needs no view


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize(
    ("stop", "finish"),
    [
        ("end_turn", "done"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "refused"),
    ],
)
async def test_stop_reasons_are_ours(stop: str, finish: str, *, streams: bool) -> None:
    """Length and refusal are distinct from every other end."""
    async with AnthropicApi(lambda _: Reply("a", finish=stop)) as api:
        claude = model(api)
        with time_limit():
            response = await claude.complete(ask([] if streams else None))
        await claude.aclose()
    assert response.finish == finish


@pytest.mark.parametrize(
    ("fault", "streams"), [("cut", True), ("cut", False), ("broken_json", False)]
)
async def test_half_an_answer_is_no_answer(fault: Fault, *, streams: bool) -> None:
    """A cut connection and half a document are retryable."""
    async with AnthropicApi(lambda _: Reply("some words", fault=fault)) as api:
        claude = model(api)
        with time_limit(), pytest.raises(RetryableModelError):
            await claude.complete(ask([] if streams else None))
        await claude.aclose()


async def test_a_hanging_stream_is_given_up() -> None:
    """The first token has a deadline."""
    async with AnthropicApi(lambda _: Reply(fault="hang")) as api:
        claude = model(api, QUICK)
        with time_limit(), pytest.raises(RetryableModelError, match="timed out"):
            await claude.complete(ask([]))
        await claude.aclose()


@pytest.mark.parametrize(
    ("status", "kind", "message", "expected"),
    [
        (529, "overloaded_error", "Overloaded", RetryableModelError),
        (429, "rate_limit_error", "slow down", RetryableModelError),
        (400, "invalid_request_error", "prompt is too long: 9 > 8", ContextOverflowError),
        (401, "authentication_error", "invalid x-api-key", AccountError),
        (404, "not_found_error", "model: m", FatalModelError),
    ],
)
@pytest.mark.parametrize("in_stream", [True, False])
async def test_errors_are_classified_alike_by_status_and_by_event(
    status: int, kind: str, message: str, expected: type[ModelError], *, in_stream: bool
) -> None:
    """An error event after status 200 counts like its status."""
    reply = (
        Reply(message, kind=kind, fault="error_event")
        if in_stream
        else Reply(message, kind=kind, status=status)
    )
    async with AnthropicApi(lambda _: reply) as api:
        claude = model(api)
        with time_limit(), pytest.raises(ModelError) as caught:
            await claude.complete(ask([]))
        await claude.aclose()
    assert type(caught.value) is expected


def thinking(*conversation: Message, model: str = "claude-sonnet-4-5") -> Any:
    """Return the thinking that is asked for after these messages."""
    asked = ModelRequest(
        system="", messages=conversation, tools=(TOOL,), reasoning=Reasoning(effort="low")
    )
    return build_request_body(Account(PROVIDERS["anthropic"], model), asked).get("thinking")


def test_thinking_is_off_in_a_turn_whose_calls_another_model_made() -> None:
    """After a fallback within the turn; the next turn thinks again."""
    question, result = (
        UserMessage(content="q"),
        ToolResult(call_id="1", name="get_time", content="noon"),
    )
    made = AssistantMessage(tool_calls=(ToolCall(id="1", name="get_time"),))
    thought: JsonObject = {"type": "thinking", "thinking": "", "signature": "c2ln"}
    sonnet = "anthropic@api.anthropic.com/claude-sonnet-4-5"
    signed = Extras(origin=sonnet, fields={"blocks": [thought, None]})
    own = made.model_copy(update={"extras": signed})
    assert thinking(question, own, result) == {"type": "enabled", "budget_tokens": 2048}
    assert thinking(question, made, result) is None
    assert thinking(question, made, result, question) is not None
    assert thinking(question, own, result, model="claude-opus-4-5") is None
    opus = Extras(origin="anthropic@api.anthropic.com/claude-opus-4-7", fields={"blocks": [None]})
    unthought = made.model_copy(update={"extras": opus})
    assert thinking(question, unthought, result, model="claude-opus-4-7") == {"type": "adaptive"}
    assert thinking(question, own, result, model="claude-opus-4-7") is None
