"""``orchestrator models test``: real workers and a broker ask fakes of providers."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from anyio import to_thread
from fakes.control_server import command
from fakes.embeddings_api import EmbeddingsApi
from fakes.model_api import ModelApi, Reply
from fakes.openai_api import OpenAIApi
from fakes.time_limit import time_limit
from typer.testing import Result

from orchestrator.errors import ExitCode

pytestmark = pytest.mark.process
KEY = "gsk-canary"


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROQ_API_KEY", KEY)
    monkeypatch.delenv("MISTRAL_API_KEY", raising=False)


async def tried(home: Path, agents: list[dict[str, Any]], *words: str, **rest: Any) -> Result:
    """Run the command beside the fakes that this loop serves."""
    bindings = [{"channel": "console", "chatId": "*", "agentId": agents[0]["agentId"]}]
    text = json.dumps({"agents": agents, "bindings": bindings, **rest})
    (home / "agents.json").write_text(text, "utf-8")
    with time_limit():
        return await to_thread.run_sync(partial(command, home, "models", "test", *words))


def agent(name: str, api: ModelApi, model: str, **fields: Any) -> dict[str, Any]:
    """An agent of Groq, as if it stood at the fake."""
    base = {"agentId": name, "llmProvider": "groq", "model": model, "baseUrl": f"{api.url}/v1"}
    return base | fields


def able(body: dict[str, Any]) -> Reply:
    """Do all that is asked; a small model has no tools, sees nothing and talks too much."""
    small = body["model"] == "small"
    if "tools" in body:
        if small:
            return Reply("tools are not supported by this model", status=400)
        assert body["tool_choice"] == "required"
        return Reply(tool_calls=(("report_number", {"number": 7}),))
    if "response_format" in body:
        return Reply("It is blue." if small else '{"colour": "blue"}')
    if "image_url" in str(body["messages"]) and small:
        return Reply("image input is not supported", status=400)
    return Reply("fine")


async def test_each_ability_is_shown_with_the_reason_and_what_to_do(tmp_path: Path) -> None:
    """Of each model once; the keys go along and are not shown; tokens are counted."""
    async with OpenAIApi(able) as api, EmbeddingsApi() as meaning:
        embeddings = {"model": "e", "provider": "openai", "baseUrl": f"{meaning.url}/v1"}
        agents = [
            agent("home", api, "large-vision", fallbackModels=["small"], embeddings=embeddings),
            agent("work", api, "large-vision"),
        ]
        done = await tried(tmp_path, agents)
    assert done.exit_code == ExitCode.FAILED
    rows = [line.split() for line in done.stdout.splitlines()]
    assert rows[1][:6] == ["model", "chat", "tools", "images", "schema", "embeddings"]
    assert rows[2] == ["groq/large-vision", "yes", "yes", "yes", "yes", "72", "home,", "work"]
    assert rows[3][:5] == ["groq/small", "yes", "no", "no", "no"]
    assert rows[4][:3] == ["openai/e", "yes", "11"]
    assert "groq/small, tools: groq takes no tools for 'small'" in done.stdout
    assert 'agents with "toolCalls": "auto" or "text" write their calls as text' in done.stdout
    assert 'not supported; set "vision": false' in done.stdout
    assert "groq/large-vision: tools native, sees pictures" in done.stdout
    assert "groq/small, schema: its answer does not have the requested form" in done.stdout
    assert "openai/e, embeddings: 6 dimensions" in done.stdout
    assert KEY not in done.output
    assert {found.headers["authorization"] for found in api.requests} == {f"Bearer {KEY}"}


async def test_models_beside_the_one_that_answers_are_not_asked_to_answer(tmp_path: Path) -> None:
    """An embeddings model works without the key of the agent's own; others are not tried."""
    async with OpenAIApi(able) as api, EmbeddingsApi() as meaning:
        url = f"{api.url}/v1"
        beside = {
            "embeddings": {"model": "e", "baseUrl": f"{meaning.url}/v1"},
            "voice": {"hear": {"model": "w", "baseUrl": url}},
            "images": {"model": "d", "baseUrl": url},
        }
        keyless = {"agentId": "home", "llmProvider": "mistral", "model": "m", **beside}
        done = await tried(tmp_path, [keyless])
    assert done.exit_code == ExitCode.FAILED
    assert "mistral/m, chat: MISTRAL_API_KEY is not set" in done.stdout
    assert "custom/e, embeddings: 6 dimensions" in done.stdout
    for model in ("custom/w", "custom/d"):
        assert f"{model}, chat: hearing, speaking and drawing are not tried" in done.stdout
    assert api.requests == []


async def test_provider_and_model_can_be_named_without_an_agent(tmp_path: Path) -> None:
    """What the provider lacks is not asked; the rest of a model that does not answer neither."""
    demo = [{"agentId": "home", "llmProvider": "demo"}]
    async with OpenAIApi(able) as api, OpenAIApi() as refusing:
        refusing.key = "other"
        url, wrong = f"{api.url}/v1", f"{refusing.url}/v1"
        acme = {"baseUrl": url, "tools": False, "images": False, "structuredOutput": "none"}
        own = {"acme": acme, "bad": {"baseUrl": wrong, "keyVariable": "GROQ_API_KEY"}}
        done = await tried(tmp_path, demo, "acme/large", "--json", providers=own)
        assert done.exit_code == ExitCode.OK
        (model,) = json.loads(done.stdout)["models"]
        states = {trial["name"]: trial["state"] for trial in model["trials"]}
        assert states == {
            "chat": "works",
            **dict.fromkeys(("tools", "images", "schema"), "adapted"),
        }
        assert len(api.requests) == 1
        refused = await tried(tmp_path, demo, "bad/large", providers=own)
        assert refused.exit_code == ExitCode.FAILED
        assert "bad refused the key; correct GROQ_API_KEY in keys.env" in refused.stdout
        assert refusing.requests == []


async def test_what_cannot_be_tried_is_a_sentence(tmp_path: Path) -> None:
    """A missing key, a misspelt name, a provider whose model must be named; the demo works."""
    demo = [{"agentId": "home", "llmProvider": "demo"}]
    for what, code, said in (
        ("mistral", ExitCode.FAILED, "chat: MISTRAL_API_KEY is not set; add it to keys.env"),
        ("mistrall/x", ExitCode.USAGE, "no agent and no provider is called 'mistrall/x'; did you"),
        ("ollama", ExitCode.CONFIG, "name a model: ollama/MODEL"),
        ("azure/gpt", ExitCode.CONFIG, "set its baseUrl in providers"),
        ("home", ExitCode.OK, "demo/demo"),
    ):
        done = await tried(tmp_path, demo, what)
        assert (done.exit_code, said in done.output) == (code, True), done.output
