"""Providers by name in a whole daemon: their addresses, keys and rules."""

from functools import partial
from pathlib import Path

import pytest
from fakes.api_client import endpoints_of
from fakes.model_api import Reply
from fakes.openai_api import OpenAIApi
from fakes.strict_api import StrictApi, mistral
from openai import AsyncOpenAI

from thinker.protocol.messages import JsonObject

pytestmark = [pytest.mark.process, pytest.mark.thorough(part="models")]
KEYS = {"ACME_API_KEY": "sk-acme", "AZURE_OPENAI_API_KEY": "sk-azure", "OTHER_KEY": "sk-other"}


def timed(body: JsonObject, reasoning: str = "") -> Reply:
    """Ask for the time, with a reason, then say what came back."""
    messages = body["messages"]
    assert isinstance(messages, list)
    last = messages[-1]
    assert isinstance(last, dict)
    if last["role"] == "tool":
        return Reply("It is late.")
    return Reply(tool_calls=(("get_time", {}),), reasoning=reasoning)


def config(acme: OpenAIApi, azure: OpenAIApi, key: str = "ACME_API_KEY") -> JsonObject:
    """One agent at a server that is like Mistral's, one at a resource that is like Azure's."""
    own: JsonObject = {"baseUrl": f"{acme.url}/v1", "like": "mistral", "keyVariable": key}
    return {
        "providers": {"acme": own, "azure": {"baseUrl": azure.url, "apiVersion": "2025-04-01"}},
        "agents": [
            {"agentId": "work", "llmProvider": "acme", "model": "large"},
            {"agentId": "home", "llmProvider": "azure", "model": "my-gpt"},
        ],
    }


async def answer(client: AsyncOpenAI, agent: str) -> str | None:
    """What an agent says to a greeting."""
    done = await client.chat.completions.create(
        model=agent, messages=[{"role": "user", "content": "hello"}]
    )
    return done.choices[0].message.content


async def test_each_agent_asks_its_provider_in_its_own_way(tmp_path: Path) -> None:
    """Ids of calls, address, version and header; an edit of a provider is live."""
    async with (
        StrictApi(mistral, timed) as acme,
        OpenAIApi() as azure,
        endpoints_of(tmp_path, config(acme, azure), KEYS) as api,
    ):
        assert await answer(api.client, "work") == "It is late."
        assert await answer(api.client, "home") == "echo: hello"
        assert [request.headers["authorization"] for request in acme.requests] == (
            ["Bearer sk-acme"] * 2
        )
        (asked,) = azure.requests
        assert asked.path == ("/openai/deployments/my-gpt/chat/completions?api-version=2025-04-01")
        assert asked.headers["api-key"] == "sk-azure"
        assert "authorization" not in asked.headers
        api.daemon.write(config(acme, azure, "OTHER_KEY"))
        await api.daemon.logged("config_applied")
        assert await answer(api.client, "work") == "It is late."
        assert acme.requests[-1].headers["authorization"] == "Bearer sk-other"
        assert "sk-" not in str(api.daemon.log)


def forgetful(body: JsonObject) -> str | None:
    """Refuse calls without the reasoning that came with them, in DeepSeek's words."""
    messages = body["messages"]
    assert isinstance(messages, list)
    lost = any(
        isinstance(one, dict)
        and one.get("tool_calls")
        and one.get("reasoning_content") != "I look at the clock."
        for one in messages
    )
    return "The `reasoning_content` in the thinking mode must be passed back." if lost else None


async def test_what_came_with_an_answer_is_in_the_journal_and_goes_back(tmp_path: Path) -> None:
    """Within the turn and in the next one, with all tools; nothing is refused."""
    async with StrictApi(forgetful, partial(timed, reasoning="I look at the clock.")) as server:
        own: JsonObject = {"baseUrl": f"{server.url}/v1", "keyVariable": "ACME_API_KEY"}
        given: JsonObject = {
            "providers": {"acme": own},
            "agents": [{"agentId": "work", "llmProvider": "acme", "model": "thinker"}],
        }
        async with endpoints_of(tmp_path, given, KEYS) as api:
            first = await api.client.responses.create(model="work", input="hello")
            then = await api.client.responses.create(
                model="work", input="and now?", previous_response_id=first.id
            )
        assert [first.output_text, then.output_text] == ["It is late."] * 2
        assert len(server.requests) == 4
        assert all(request.body["tools"] for request in server.requests)
        assert str(server.requests[-1].body).count("I look at the clock.") == 2
