"""OpenAI's own client against our fake of its API: the adapter is tested with the real format."""

from typing import Any

import openai
import pytest
from fakes.model_api import Reply
from fakes.openai_api import OpenAIApi
from openai import AsyncOpenAI

ASK: Any = {"model": "fake-model", "messages": [{"role": "user", "content": "hello there"}]}


async def test_answers_and_errors_are_what_the_client_expects() -> None:
    """Whole, and put together from its chunks."""
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
