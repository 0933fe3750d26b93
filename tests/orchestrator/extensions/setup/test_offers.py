"""``orchestrator models``: what providers really list, what is known of it, and who uses it."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from anyio import to_thread
from fakes.anthropic_api import AnthropicApi
from fakes.control_server import command
from fakes.model_api import ModelApi, Reply
from fakes.openai_api import OpenAIApi
from fakes.time_limit import time_limit
from typer.testing import Result

from orchestrator.errors import ExitCode
from thinker.protocol.providers import PROVIDERS

KEYS = {"GROQ_API_KEY": "gsk-1", "OPENAI_API_KEY": "sk-1", "ANTHROPIC_API_KEY": "ant-1"}


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)


def listing(*names: str) -> dict[str, Any]:
    """A provider's list of models."""
    return {"object": "list", "data": [{"id": name, "object": "model"} for name in names]}


def agent(name: str, api: ModelApi, model: str, **fields: Any) -> dict[str, Any]:
    """An agent of Groq, as if it stood at the fake."""
    base = {"agentId": name, "llmProvider": "groq", "model": model, "baseUrl": f"{api.url}/v1"}
    return base | fields


async def shown(home: Path, agents: list[dict[str, Any]], *words: str, **rest: Any) -> Result:
    """Run the command beside the fakes that this loop serves."""
    bindings = [{"channel": "console", "chatId": "*", "agentId": agents[0]["agentId"]}]
    text = json.dumps({"agents": agents, "bindings": bindings, **rest})
    (home / "agents.json").write_text(text, "utf-8")
    with time_limit():
        return await to_thread.run_sync(partial(command, home, "models", *words))


async def test_listed_models_are_shown_with_prices_and_users(tmp_path: Path) -> None:
    """Those in use first; the key goes along; a price of the file counts."""
    async with OpenAIApi() as api:
        api.pages["/v1/models"] = listing("b", "a", "used-20260102")
        prices = {"groq/b": {"input": 1, "output": 2.5}}
        done = await shown(tmp_path, [agent("home", api, "used")], prices=prices)
    assert done.exit_code == ExitCode.OK
    known, _, offered = done.stdout.partition("\n\n")
    assert "groq       GROQ_API_KEY is set" in known
    assert "anthropic  ANTHROPIC_API_KEY is set" in known
    assert "mistral" not in known
    rows = [line.split() for line in offered.splitlines()]
    assert rows[1:5] == [
        ["model", "input", "output", "used", "by"],
        ["used-20260102", "home"],
        ["a"],
        ["b", "1", "2.5"],
    ]
    assert [found.headers["authorization"] for found in api.lookups] == ["Bearer gsk-1"]


async def test_version_of_a_model_may_be_left_out_and_the_demo_is_free(tmp_path: Path) -> None:
    """As JSON; Anthropic is asked in its own way."""
    async with AnthropicApi() as api:
        api.pages["/v1/models?limit=1000"] = listing("claude-x-20260102")
        claude = {"llmProvider": "anthropic", "baseUrl": api.url}
        agents = [agent("home", api, "claude-x", **claude), {"agentId": "b", "llmProvider": "demo"}]
        done = await shown(tmp_path, agents, "--json")
    first, second = json.loads(done.stdout)["providers"]
    assert first["models"][0]["agents"] == ["home"]
    assert first["notListed"] == []
    assert second["models"][0] == {
        "id": "demo",
        "contextWindow": None,
        "input": 0,
        "output": 0,
        "cached": None,
        "agents": ["b"],
    }
    (asked,) = api.lookups
    assert (asked.headers["x-api-key"], "anthropic-version" in asked.headers) == ("ant-1", True)


async def test_model_that_is_not_listed_is_named_with_the_nearest(tmp_path: Path) -> None:
    """A fallback too; the search for a text does not change that."""
    async with OpenAIApi() as api:
        api.pages["/v1/models"] = listing("llama-3.3-70b-versatile", "qwen/qwen3-32b")
        fallback = {"fallbackModels": ["lama-3.3-70b-versatile"]}
        done = await shown(
            tmp_path, [agent("home", api, "qwen/qwen3-32b", **fallback)], "--find", "qwen"
        )
    assert "llama" not in done.stdout.partition("\n\n")[0]
    said = "home: groq does not list 'lama-3.3-70b-versatile'; did you mean \"llama-3.3-70b-vers"
    assert said in done.stdout


async def test_refused_key_and_missing_server_are_a_sentence_each(tmp_path: Path) -> None:
    """The others are listed all the same; the key is not repeated."""
    async with OpenAIApi() as api, OpenAIApi() as refusing:
        refused = Reply("no such key: sk-1", status=401)
        refusing.pages["/v1/models"] = refused
        agents = [
            agent("home", api, "fake-model"),
            agent("b", refusing, "m", llmProvider="openai"),
            agent("c", api, "m", llmProvider="lmstudio", baseUrl="http://127.0.0.1:9/v1"),
        ]
        done = await shown(tmp_path, agents)
    assert done.exit_code == ExitCode.FAILED
    assert "fake-model  home" in done.stdout
    assert "openai: " in done.stdout
    assert "refused the key: HTTP 401, no such key: [the key]" in done.stdout
    assert "lmstudio: 127.0.0.1:9 cannot be reached" in done.stdout
    assert "sk-1" not in done.stdout


async def test_provider_without_its_key_is_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sentence names the variable and where to put it."""
    monkeypatch.delenv("OPENAI_API_KEY")
    demo = [{"agentId": "home", "llmProvider": "demo"}]
    done = await shown(tmp_path, demo, "--provider", "openai")
    assert done.exit_code == ExitCode.FAILED
    assert "openai: OPENAI_API_KEY is not set; add it to keys.env" in done.stdout


async def test_unknown_provider_lists_the_known_ones(tmp_path: Path) -> None:
    """Nothing is asked."""
    demo = [{"agentId": "home", "llmProvider": "demo"}]
    done = await shown(tmp_path, demo, "--provider", "acme")
    assert done.exit_code == ExitCode.CONFIG
    assert "unknown provider 'acme'; use one of anthropic, openai, groq" in done.stderr


async def test_provider_is_asked_where_an_agent_uses_it(tmp_path: Path) -> None:
    """With the agent's own key, which wins over that of the environment."""
    async with OpenAIApi() as api:
        home = agent("home", api, "fake-model", env={"GROQ_API_KEY": "own"})
        agents = [home, {"agentId": "b", "llmProvider": "demo"}]
        done = await shown(tmp_path, agents, "--provider", "groq")
    assert "fake-model  home" in done.stdout
    assert "demo:" not in done.stdout
    assert [found.headers["authorization"] for found in api.lookups] == ["Bearer own"]


async def test_embeddings_at_an_address_are_asked_without_a_key(tmp_path: Path) -> None:
    """As the daemon asks them."""
    async with OpenAIApi() as api:
        embeddings = {"model": "fake-model", "baseUrl": f"{api.url}/v1"}
        agents = [{"agentId": "home", "llmProvider": "demo", "embeddings": embeddings}]
        done = await shown(tmp_path, agents)
    assert "fake-model  home" in done.stdout
    assert ["authorization" in found.headers for found in api.lookups] == [False]


async def test_every_provider_is_shown_with_what_it_can_if_that_is_wanted(tmp_path: Path) -> None:
    """And those of the file in any case."""
    demo = [{"agentId": "home", "llmProvider": "demo"}]
    own = {"acme": {"baseUrl": "https://a.example/v1", "keyVariable": "ACME_API_KEY"}}
    done = await shown(tmp_path, demo, "--all", "--json", providers=own)
    known = {one["name"]: one for one in json.loads(done.stdout)["known"]}
    assert known.keys() == {*PROVIDERS, "acme"}
    assert known["mistral"]["can"] == [*PROVIDERS["mistral"].can]
    assert (known["groq"]["keySet"], known["acme"]["keySet"], known["demo"]["keySet"]) == (
        *(True, False),
        None,
    )
    assert known["demo"]["agents"] == ["home"]
    usual = await shown(tmp_path, demo, "--json", providers=own)
    names = {one["name"] for one in json.loads(usual.stdout)["known"]}
    assert names == {"anthropic", "openai", "groq", "demo", "acme"}
