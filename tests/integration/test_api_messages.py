"""Messages in Anthropic's format: Anthropic's own client against the real daemon."""

from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anthropic
import pytest
from anthropic import AsyncAnthropic
from fakes.api_client import WEATHER, Endpoints, ScriptedModel, ask_for_weather, endpoints
from fakes.held_model import HeldModel, system
from fakes.model_api import Reply

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="api")]
PNG = b64encode(b"\x89PNG\r\n\x1a\n").decode()
TOOL: Any = {
    "name": "get_weather",
    "description": WEATHER["description"],
    "input_schema": WEATHER["parameters"],
}


@asynccontextmanager
async def client_of(api: Endpoints, key: str = "") -> AsyncIterator[AsyncAnthropic]:
    """Anthropic's client with the token of the endpoints, which does not repeat by itself."""
    base = str(api.client.base_url).removesuffix("/v1/")
    key = key or api.client.api_key
    async with AsyncAnthropic(api_key=key, base_url=base, max_retries=0) as client:
        yield client


def asked(text: str, **fields: Any) -> Any:
    """The fields of a request."""
    messages = [{"role": "user", "content": text}]
    return {"model": "work", "max_tokens": 9, "messages": messages} | fields


async def test_question_is_answered_with_the_history_that_it_brings(tmp_path: Path) -> None:
    """The agent's prompt first, the client's last; pictures and texts of documents go along."""
    said: Any = [
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": [{"type": "text", "text": "1"}]},
        {"role": "system", "content": "Be kind."},
        {
            "role": "user",
            "content": [
                {"type": "image", "source": _source("base64", "image/png", PNG)},
                {"type": "document", "title": "T", "source": _source("text", "text/plain", "tea")},
                {"type": "text", "text": "two"},
            ],
        },
    ]
    async with (
        HeldModel() as model,
        endpoints(tmp_path, model, vision=True) as api,
        client_of(api) as client,
    ):
        asking = {"max_tokens": 9, "system": "Be brief.", "extra_body": {"temperature": 0.1}}
        done: Any = await client.messages.create(**asked("", messages=said, **asking))
        (block,) = done.content
        assert block.type == "text"
        assert block.text.startswith("work-model: ")
        assert (done.stop_reason, done.model, done.role) == ("end_turn", "work", "assistant")
        assert done.usage.output_tokens > 0
        request = model.requests[-1].body
        assert system(model.requests[-1]).endswith("\n\nBe brief.\n\nBe kind.")
        assert [message["role"] for message in request["messages"][1:]] == [
            *("user", "assistant", "user")
        ]
        newest = request["messages"][-1]["content"]
        assert newest[0]["text"] == "T:\ntea\ntwo"
        assert newest[1]["image_url"]["url"] == f"data:image/png;base64,{PNG}"
        assert request["temperature"] == 0.1
        assert [item.id async for item in client.models.list()] == ["work"]


def _source(kind: str, media_type: str, data: str) -> dict[str, str]:
    return {"type": kind, "media_type": media_type, "data": data}


@pytest.mark.parametrize("stream", [False, True])
async def test_calls_are_handed_back_and_their_results_go_on(
    tmp_path: Path, *, stream: bool
) -> None:
    """The agent's own tool runs inside; the client puts the message together from the stream."""
    async with (
        ScriptedModel(ask_for_weather) as model,
        endpoints(tmp_path, model) as api,
        client_of(api) as client,
    ):
        request = asked("weather?", tools=[TOOL], tool_choice={"type": "auto"})
        if stream:
            async with client.messages.stream(**request) as events:
                first: Any = await events.get_final_message()
        else:
            first = await client.messages.create(**request)
        assert first.stop_reason == "tool_use"
        call = first.content[-1]
        assert (call.type, call.name, call.input) == ("tool_use", "get_weather", {"city": "Oslo"})
        answer = [block.model_dump(exclude_none=True) for block in first.content]
        for block in answer:
            block.pop("parsed_output", None)
        result = {"type": "tool_result", "tool_use_id": call.id, "content": "no", "is_error": True}
        messages: Any = [
            *request["messages"],
            {"role": "assistant", "content": answer},
            {"role": "user", "content": [result]},
        ]
        done: Any = await client.messages.create(**{**request, "messages": messages})
        assert done.content[0].text == "tool: Error: no"
        roles = [m["role"] for m in model.requests[-1].body["messages"][1:]]
        assert roles == ["user", "assistant", "tool", "assistant", "tool"]


async def test_failures_have_the_types_that_the_client_knows(tmp_path: Path) -> None:
    """By status, with a sentence; nothing that is not supported is left out in silence."""
    pdf = _source("base64", "application/pdf", PNG)
    refused: dict[str, Any] = {
        "file.pdf: it has no text to read": {
            "messages": [{"role": "user", "content": [{"type": "document", "source": pdf}]}]
        },
        "blocks of type 'search_result' are not supported": {
            "messages": [{"role": "user", "content": [{"type": "search_result"}]}]
        },
        "the tool 'web_search_20250305' is not supported": {
            "tools": [{"type": "web_search_20250305", "name": "web_search"}]
        },
        "role must be user, assistant or system": {"messages": [{"role": "x", "content": "x"}]},
        "container is not supported": {"container": "c"},
        "compaction is not supported": {"extra_body": {"compaction": {"type": "x"}}},
        "tool_choice.type must be": {"tools": [TOOL], "tool_choice": {"type": "some"}},
        "send the whole conversation": {"extra_body": {"thread": {"type": "create"}}},
    }
    async with (
        HeldModel() as model,
        endpoints(tmp_path, model) as api,
        client_of(api) as client,
        client_of(api, "orc_wrong") as stranger,
    ):
        for sentence, fields in refused.items():
            with pytest.raises(anthropic.BadRequestError) as bad:
                await client.messages.create(**asked("x", **fields))
            assert sentence in str(bad.value)
            body: Any = bad.value.body
            assert (body["type"], body["error"]["type"]) == ("error", "invalid_request_error")
        # Of a thread their clients are told how to go on without one.
        assert body["error"]["details"]["error_code"] == "thread_unsupported_request"
        with pytest.raises(anthropic.NotFoundError, match="unknown agent 'other'"):
            await client.messages.create(**asked("x", model="other"))
        with pytest.raises(anthropic.AuthenticationError):
            await stranger.messages.create(**asked("x"))
        assert model.requests == []


async def test_answer_that_cannot_be_given_is_an_error_of_its_stream(tmp_path: Path) -> None:
    """As without a stream; one that fits the schema that was asked for is given."""
    schema = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}
    form = {"output_config": {"format": {"type": "json_schema", "schema": schema}}}

    def script(body: dict[str, Any]) -> Reply:
        return Reply("never" if "never" in str(body["messages"][1]) else '{"age": 36}')

    async with (
        ScriptedModel(script) as model,
        endpoints(tmp_path, model) as api,
        client_of(api) as client,
    ):
        done: Any = await client.messages.create(**asked("x", **form))
        assert done.content[0].text == '{"age":36}'
        with pytest.raises(anthropic.InternalServerError):
            await client.messages.create(**asked("never", **form))
        with pytest.raises(anthropic.APIStatusError, match="age"):
            async with client.messages.stream(**asked("never", extra_body=form)) as events:
                await events.get_final_message()
