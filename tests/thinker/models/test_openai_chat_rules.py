"""Requests as each provider takes them, against servers that refuse all else."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from fakes.model_api import Reply
from fakes.openai_api import OpenAIApi
from fakes.scripted import spec
from fakes.strict_api import StrictApi, cohere, deepseek, gemini, mistral, unlike, zai
from fakes.time_limit import time_limit

from thinker.models.base import Model, ModelRequest
from thinker.models.choose import choose_model
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.messages import (
    AssistantMessage,
    Image,
    JsonObject,
    Reasoning,
    ToolCall,
    ToolChoice,
    ToolResult,
    UserMessage,
)
from thinker.worker_errors import FatalModelError

SCHEMA: JsonObject = {
    "type": "object",
    "additionalProperties": False,
    "properties": {"additionalProperties": {"type": "string"}, "a": {"type": "integer"}},
    "required": ["a"],
}
TOOL = spec("add").model_copy(update={"parameters": SCHEMA})
FORCED = ToolChoice(mode="required")
CALLED = (
    UserMessage(content="add"),
    AssistantMessage(tool_calls=(ToolCall(id="call_1", name="add", arguments={"a": 1}),)),
    ToolResult(call_id="call_1", name="add", content="2"),
    UserMessage(content="again"),
)
PLAIN = ModelRequest(system="s", messages=(UserMessage(content="q"),))
SEEN = UserMessage(content="look", images=(Image(media_type="image/png", data="iVBORw0KGgo="),))


def model_of(provider: str, api: OpenAIApi, **more: object) -> Model:
    """The model of an agent whose provider is at a fake's address."""
    values = {"agent_id": "work", "llm_provider": provider, "model": "fake", **more}
    return choose_model(ThinkerSettings.model_validate({**values, "base_url": f"{api.url}/v1"}), {})


async def bodies(
    provider: str,
    refuses: Callable[[dict[str, Any]], str | None],
    request: ModelRequest,
    times: int = 1,
    **more: object,
) -> list[dict[str, Any]]:
    """The bodies that are posted until the requests are answered."""
    async with StrictApi(refuses) as api:
        model = model_of(provider, api, **more)
        with time_limit():
            for _ in range(times):
                assert (await model.complete(request)).message.content
        await model.aclose()
    return [received.body for received in api.requests]


@pytest.mark.parametrize(
    ("provider", "refuses", "choice"),
    [
        ("mistral", mistral, "any"),
        ("gemini", gemini, "required"),
        ("zai", zai, None),
        ("cohere", cohere, "required"),
    ],
)
async def test_conversation_with_tools_is_taken_at_once(
    provider: str, refuses: Callable[[dict[str, Any]], str | None], choice: str | None
) -> None:
    """Streamed, with a forced call and one in the history; nothing is refused and repeated."""
    request = ModelRequest(
        system="s",
        messages=CALLED,
        tools=(TOOL,),
        tool_choice=FORCED,
        reasoning=Reasoning(effort="low"),
        on_text=lambda _: None,
    )
    (body,) = await bodies(provider, refuses, request)
    assert body.get("tool_choice") == choice
    tool = body["tools"][0]["function"]
    assert "a" in tool["parameters"]["properties"]
    (usual,) = await bodies(provider, refuses, replace(request, tool_choice=ToolChoice()))
    assert "tool_choice" not in usual


async def test_calls_keep_their_results_under_other_ids() -> None:
    """Equal ids stay equal; those of the right form stay as they are."""
    own = ToolCall(id="abcDEF123", name="add", arguments={"a": 1})
    more = (
        *CALLED[:3],
        AssistantMessage(tool_calls=(own,)),
        ToolResult(call_id="abcDEF123", name="add", content="2"),
    )
    (body,) = await bodies("mistral", mistral, replace(PLAIN, messages=more, tools=(TOOL,)))
    sent = [call["id"] for message in body["messages"] for call in message.get("tool_calls", ())]
    answered = [m["tool_call_id"] for m in body["messages"] if m["role"] == "tool"]
    assert sent == answered
    assert sent[1] == "abcDEF123"


async def test_property_may_be_called_as_a_keyword_is() -> None:
    """Only the keyword is left out of a schema, at any depth."""
    nested = {"type": "object", "properties": {"list": {"type": "array", "items": SCHEMA}}}
    tool = TOOL.model_copy(update={"parameters": nested})
    async with OpenAIApi() as api:
        model = model_of("gemini", api)
        await model.complete(replace(PLAIN, tools=(tool,)))
        await model.aclose()
    items = api.requests[0].body["tools"][0]["function"]["parameters"]["properties"]["list"][
        "items"
    ]
    assert "additionalProperties" not in items
    assert "additionalProperties" in items["properties"]


async def test_provider_without_schemas_is_asked_for_json() -> None:
    """At once; one without either is asked in words alone."""
    request = replace(PLAIN, output=SCHEMA)
    (body,) = await bodies("deepseek", deepseek, request)
    assert body["response_format"] == {"type": "json_object"}
    (body,) = await bodies("nvidia", deepseek, request)
    assert "response_format" not in body


async def test_provider_without_sight_reads_what_a_picture_is() -> None:
    """Whatever its model is called, unless the agent says that it sees."""
    request = replace(PLAIN, messages=(SEEN,))
    for vision, sees in (("auto", False), ("on", True)):
        async with OpenAIApi(lambda _: Reply("seen")) as api:
            model = model_of("deepseek", api, model="gpt-4o-vision", vision=vision)
            await model.complete(request)
            await model.aclose()
        assert ("image_url" in str(api.requests[0].body)) == sees


async def test_field_that_an_unknown_server_refuses_is_left_out_from_then_on() -> None:
    """One by one; the limit of an answer has another name."""
    request = replace(
        PLAIN, temperature=0.5, max_output_tokens=9, on_text=lambda _: None, output=None
    )
    fields = ("max_tokens", "stream_options", "temperature")
    *refused, first, second = await bodies("openai", unlike(*fields), request, 2)
    assert len(refused) == len(fields) - 1  # OpenAI's name of the limit is right at once
    assert first == second
    assert first["max_completion_tokens"] == 9
    assert not {*fields} & first.keys()
    both = unlike("max_tokens", "max_completion_tokens")
    assert "max_tokens" not in (await bodies("groq", both, request))[-1]


async def test_other_words_about_a_field_are_final() -> None:
    """A wrong value is no unknown field."""
    request = replace(PLAIN, max_output_tokens=9)

    async with StrictApi(mistral, status=422) as api:
        model = model_of("groq", api)
        with pytest.raises(FatalModelError, match="not permitted"):
            await model.complete(replace(request, on_text=lambda _: None))
        await model.aclose()
    assert len(api.requests) == 1


async def test_a_limit_that_the_model_does_not_reach_is_left_out() -> None:
    """The provider's own limit is lower, so the answer is no longer than was asked for."""

    def too_many(body: dict[str, Any]) -> str | None:
        fields = {"max_tokens", "max_completion_tokens"} & body.keys()
        return "max_tokens must be at most 8" if fields else None

    *_, last = await bodies("groq", too_many, replace(PLAIN, max_output_tokens=9))
    assert not {"max_tokens", "max_completion_tokens"} & last.keys()
