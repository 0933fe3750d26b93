"""OpenAI's own client against the fake of its API that the adapter is tested with."""

from typing import Any

import openai
import pytest
from fakes.model_api import Reply
from fakes.openai_api import OpenAIApi
from openai import AsyncOpenAI
from pydantic import BaseModel

from thinker.models.base import ModelRequest
from thinker.models.failures import Account
from thinker.models.openai_chat import build_request_body
from thinker.protocol.messages import UserMessage
from thinker.protocol.providers import PROVIDERS

pytestmark = pytest.mark.thorough(part="models")

ASK: Any = {"model": "fake-model", "messages": [{"role": "user", "content": "hello there"}]}


class Person(BaseModel):
    """The schema of an answer."""

    name: str


async def test_answers_and_errors_are_what_the_client_expects() -> None:
    """Whole, and assembled from chunks."""
    call = ("add", {"a": 1})
    async with (
        OpenAIApi() as api,
        AsyncOpenAI(api_key="x", base_url=f"{api.url}/v1", max_retries=0) as client,
    ):
        whole = await client.chat.completions.create(**ASK)
        assert whole.choices[0].message.content == "echo: hello there"
        api.script.append(Reply("Well.", tool_calls=(call,)))
        async with client.chat.completions.stream(**ASK) as stream:
            final: Any = await stream.get_final_completion()
        (made,) = final.choices[0].message.tool_calls
        assert (made.function.name, made.function.arguments) == ("add", '{"a":1}')
        assert final.choices[0].finish_reason == "tool_calls"
        assert [model.id async for model in client.models.list()] == ["fake-model"]
        api.script.append(Reply("slow down", status=429))
        with pytest.raises(openai.RateLimitError, match="slow down"):
            await client.chat.completions.create(**ASK)


async def test_schema_of_an_answer_stands_where_the_client_puts_it() -> None:
    """The adapter sends a model's schema as OpenAI's client does, except for the name."""
    async with (
        OpenAIApi(lambda _: Reply('{"name": "Ada"}')) as api,
        AsyncOpenAI(api_key="x", base_url=f"{api.url}/v1", max_retries=0) as client,
    ):
        parsed = await client.chat.completions.parse(**ASK, response_format=Person)
    assert parsed.choices[0].message.parsed == Person(name="Ada")
    asked = ModelRequest("", (UserMessage(content="hi"),), output=Person.model_json_schema())
    ours: Any = build_request_body(Account(PROVIDERS["openai"], "m"), asked)["response_format"]
    theirs = api.requests[0].body["response_format"]
    theirs["json_schema"]["name"] = ours["json_schema"]["name"]
    assert ours == theirs
