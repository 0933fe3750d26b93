"""A model is tried with one short request, and given to an agent only if it answers."""

import json
from pathlib import Path
from typing import Any

import pytest
from fakes.anthropic_api import AnthropicApi
from fakes.model_api import Reply
from fakes.openai_api import OpenAIApi
from fakes.set_up_home import SetUpHome

from orchestrator.errors import OrchestratorError
from orchestrator.extensions.setup.agents_text import AgentsText
from orchestrator.extensions.setup.model_setup import PROBED, ModelSetup
from orchestrator.extensions.setup.setup_requests import ModelOutcome
from orchestrator.extensions.setup.stored_keys import StoredKeys
from orchestrator.processes.launch import Endpoint
from thinker.protocol.messages import JsonObject

KEY = "sk-good"


async def open_setup(world: SetUpHome) -> ModelSetup:
    """The models of a home whose daemon runs."""
    daemon = await world.start()
    text = AgentsText(daemon)
    return ModelSetup(daemon, text, StoredKeys(daemon, text))


def first_agent(world: SetUpHome) -> JsonObject:
    """The first agent in agents.json."""
    agent: JsonObject = json.loads(world.text)["agents"][0]
    return agent


async def try_model(setup: ModelSetup, api: OpenAIApi, **wanted: Any) -> ModelOutcome:
    """Set up a model of a fake server."""
    given = {"provider": "openai", "baseUrl": f"{api.url}/v1", **wanted}
    return await setup.set_up_model("web:ann", given)


async def test_model_that_answers_is_in_use_with_its_key(tmp_path: Path) -> None:
    """The home gets a file of its own, with what the bundled one has besides."""
    async with OpenAIApi() as api:
        api.key = KEY
        api.pages["/v1/models"] = {"data": [{"id": "big"}]}
        world = SetUpHome(tmp_path)
        setup = await open_setup(world)
        done = await try_model(setup, api, key=KEY)
        assert (done.works, done.saved, done.models) == (True, True, ("big",))
        assert f"big answers at {api.url.removeprefix('http://')}; assistant uses it" in done.text
        assert "4,096 tokens are assumed" in done.text
        agent = first_agent(world)
        assert (agent["llmProvider"], agent["model"]) == ("openai", "big")
        assert (tmp_path / "agents.schema.json").is_file()
        assert KEY not in world.text
        assert KEY in world.keys
        assert world.get_agents_file().agents[0].model == "big"
        assert setup.tried == {"assistant": "openai/big"}


async def test_what_does_not_work_is_not_kept(tmp_path: Path) -> None:
    """Neither a wrong key nor a refused model; the reason is the provider's, without the key."""
    async with OpenAIApi() as api:
        api.key = KEY
        api.pages["/v1/models"] = {"data": [{"id": "big"}]}
        world = SetUpHome(tmp_path)
        setup = await open_setup(world)
        wrong = await try_model(setup, api, key="sk-wrong")
        assert (wrong.works, wrong.saved) == (False, False)
        assert "Incorrect API key" in wrong.text
        assert "sk-wrong" not in wrong.text
        api.script.append(Reply("no such model", status=404))
        refused = await try_model(setup, api, key=KEY, model="bog")
        assert (refused.works, refused.models) == (False, ("big",))
        assert "no such model" in refused.text
    away = await setup.set_up_model(
        "web:ann",
        {"provider": "openai", "baseUrl": "http://127.0.0.1:1/v1", "key": KEY, "model": "m"},
    )
    assert (away.works, "cannot be reached" in away.text) == (False, True)
    assert world.is_untouched


async def test_model_that_reasons_is_asked_as_it_wants(tmp_path: Path) -> None:
    """It refuses the older name of the limit."""
    async with OpenAIApi() as api:
        api.pages["/v1/models"] = {"data": [{"id": "o9"}]}
        api.script.append(Reply("use max_completion_tokens instead of max_tokens", status=400))
        done = await try_model(await open_setup(SetUpHome(tmp_path)), api, key=KEY)
        assert done.works
        assert "max_completion_tokens" in api.requests[-1].body


async def test_agent_moves_to_another_provider_without_what_it_had(tmp_path: Path) -> None:
    """An address and a key of its own would keep it from working."""
    async with OpenAIApi() as api, AnthropicApi() as other:
        other.pages["/v1/models?limit=1000"] = {"data": [{"id": "c"}]}
        other.key = KEY
        other.script.append(Reply("hello"))
        agent = {
            "agentId": "work",
            "llmProvider": "openai",
            "model": "m",
            "baseUrl": f"{api.url}/v1",
            "env": {"OPENAI_API_KEY": "${WORK_KEY}", "OTHER": "x"},
        }
        (tmp_path / "agents.json").write_text(json.dumps({"agents": [agent]}), "utf-8")
        world = SetUpHome(tmp_path, {"WORK_KEY": "w"})
        setup = await open_setup(world)
        given = {"provider": "anthropic", "baseUrl": f"{other.url}/v1", "key": KEY}
        done = await setup.set_up_model("web:ann", {**given, "agentId": "work"})
        assert done.works, done.text
        now = first_agent(world)
        assert (now["llmProvider"], now["model"]) == ("anthropic", "c")
        assert now["baseUrl"] == f"{other.url}/v1"
        done = await setup.set_up_model("web:ann", {"provider": "demo", "agentId": "work"})
        assert done.works
        assert (first_agent(world)["llmProvider"], first_agent(world)["baseUrl"]) == ("demo", None)
        assert world.get_agents_file().agents[0].llm_provider == "demo"


@pytest.mark.parametrize(
    ("wanted", "problem"),
    [
        ({"provider": "opnai"}, "unknown provider"),
        ({"provider": "openai"}, "needs a key"),
        ({"provider": "azure", "key": KEY}, "needs the address"),
        ({"provider": "openai", "baseUrl": "file:///etc/passwd", "key": KEY}, "begin with http"),
        ({"provider": "openai", "baseUrl": "http://", "key": KEY}, "begin with http"),
        ({"provider": "openai", "key": "two\nlines"}, "one line"),
    ],
)
async def test_wish_that_cannot_be_right_is_refused(
    tmp_path: Path, wanted: JsonObject, problem: str
) -> None:
    """No server is asked, and nothing is written."""
    world = SetUpHome(tmp_path)
    setup = await open_setup(world)
    with pytest.raises(OrchestratorError, match=problem) as raised:
        await setup.set_up_model("web:ann", wanted)
    assert "lines" not in str(raised.value)
    assert world.is_untouched


async def test_key_of_the_environment_is_not_hidden_by_another(tmp_path: Path) -> None:
    """It would win over the new one, so the trial would say nothing."""
    world = SetUpHome(tmp_path, {"OPENAI_API_KEY": "sk-env"})
    setup = await open_setup(world)
    with pytest.raises(OrchestratorError, match="which wins over"):
        await setup.set_up_model("web:ann", {"provider": "openai", "key": KEY})


async def test_this_machine_is_not_searched_by_every_look(tmp_path: Path) -> None:
    """An open page looks every second; a server that starts is found a little later."""
    world = SetUpHome(tmp_path)
    setup = await open_setup(world)
    assert await setup.list_local_servers() == ()
    world.servers = (Endpoint("ollama", "m"),)
    assert await setup.list_local_servers() == ()
    world.now += 1000 * round(PROBED)
    (found,) = await setup.list_local_servers()
    assert found.provider == "ollama"


async def test_offers_list_what_each_provider_has(tmp_path: Path) -> None:
    """Of a provider without a key only the usual model, with its price."""
    world = SetUpHome(tmp_path)
    setup = await open_setup(world)
    offers = await setup.list_offers(None)
    assert offers.local == ()
    found = {one.provider: one for one in offers.providers}
    (usual,) = found["anthropic"].models
    assert usual.id == found["anthropic"].default_model
    assert usual.input_usd
    assert (found["anthropic"].key_variable, found["anthropic"].key_set) == (
        "ANTHROPIC_API_KEY",
        False,
    )
    assert found["azure"].needs_address
