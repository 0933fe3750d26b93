"""Providers without tools."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from fakes.openai_api import OpenAIApi
from fakes.scripted import spec
from fakes.strict_api import StrictApi, toolless
from fakes.time_limit import time_limit

from thinker.models.base import Model, ModelRequest
from thinker.models.choose import choose_model
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.messages import (
    UserMessage,
)

TOOL = spec("add")


PLAIN = ModelRequest(system="s", messages=(UserMessage(content="q"),))


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


async def test_provider_without_tools_is_offered_them_as_text() -> None:
    """Its first request has none to refuse."""
    (body,) = await bodies("perplexity", toolless, replace(PLAIN, tools=(TOOL,)))
    assert "add" in body["messages"][0]["content"]
