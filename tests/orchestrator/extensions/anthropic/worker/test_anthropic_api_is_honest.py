"""Anthropic's own client against the fake of its API that the adapter is tested with."""

from typing import Any

import anthropic
import pytest
from anthropic import AsyncAnthropic
from fakes.anthropic_api import CACHE_READ, OUTPUT_TOKENS, AnthropicApi
from fakes.model_api import Reply
from pydantic import BaseModel

from orchestrator.extensions.anthropic.worker.anthropic_messages import build_request_body
from thinker.models.base import ModelRequest
from thinker.models.failures import Account
from thinker.protocol.messages import UserMessage
from thinker.protocol.providers import PROVIDERS

pytestmark = pytest.mark.thorough(part="models")

ASK: Any = {
    "model": "fake-model",
    "max_tokens": 9,
    "messages": [{"role": "user", "content": [{"type": "text", "text": "hello there"}]}],
}


class Person(BaseModel):
    """The schema of an answer."""

    name: str


async def test_answers_and_errors_are_what_the_client_expects() -> None:
    """Whole, and assembled from events."""
    call = ("add", {"a": 1})
    async with (
        AnthropicApi() as api,
        AsyncAnthropic(api_key="x", base_url=api.url, max_retries=0) as client,
    ):
        whole: Any = await client.messages.create(**ASK)
        assert [block.text for block in whole.content] == ["echo: hello there"]
        assert (whole.stop_reason, whole.usage.cache_read_input_tokens) == ("end_turn", CACHE_READ)
        api.script.append(Reply("Well.", tool_calls=(call,), reasoning="Hm."))
        async with client.messages.stream(**ASK) as stream:
            texts = [text async for text in stream.text_stream]
            final: Any = await stream.get_final_message()
        assert "".join(texts) == "Well."
        thought, text, made = final.content
        assert (thought.thinking, text.text) == ("Hm.", "Well.")
        assert (made.name, made.input) == call
        assert (final.stop_reason, final.usage.output_tokens) == ("tool_use", OUTPUT_TOKENS)
        api.script.append(Reply("slow down", status=429, kind="rate_limit_error"))
        with pytest.raises(anthropic.RateLimitError, match="slow down"):
            await client.messages.create(**ASK)
        assert api.requests[0].path == "/v1/messages"


async def test_schema_of_an_answer_stands_where_the_client_puts_it() -> None:
    """The adapter sends a model's schema as Anthropic's client does."""
    async with (
        AnthropicApi(lambda _: Reply('{"name": "Ada"}')) as api,
        AsyncAnthropic(api_key="x", base_url=api.url, max_retries=0) as client,
    ):
        parsed = await client.messages.parse(**ASK, output_format=Person)
    assert parsed.parsed_output == Person(name="Ada")
    asked = ModelRequest("", (UserMessage(content="hi"),), output=Person.model_json_schema())
    ours: Any = build_request_body(Account(PROVIDERS["anthropic"], "m"), asked)["output_config"]
    theirs = api.requests[0].body["output_config"]
    assert theirs.keys() == ours.keys()
    assert theirs["format"]["type"] == ours["format"]["type"]
    assert theirs["format"]["schema"].keys() >= ours["format"]["schema"].keys() - {"description"}
