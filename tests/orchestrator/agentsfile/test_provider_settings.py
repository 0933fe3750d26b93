"""Providers that agents.json adds."""

from typing import Any

import pytest
from fakes.agents_file import WORK, parsed

from orchestrator.agentsfile.model_costs import find_model_facts, find_model_price, list_models
from thinker.protocol.providers import PROVIDERS

ACME = {"baseUrl": "https://llm.acme.example/v1/", "keyVariable": "ACME_API_KEY"}
OWN = {"agentId": "own", "llmProvider": "acme", "model": "large"}


def test_provider_of_the_file_can_be_named_everywhere() -> None:
    """By agents, fallbacks, embeddings and models; it is like the known one that it names."""
    acme = ACME | {"like": "mistral", "images": False, "structuredOutput": "json", "omits": ["x"]}
    agent = OWN | {
        "fallbackModels": ["acme/small", "openai/gpt"],
        "embeddings": {"model": "e", "provider": "acme"},
    }
    models = {"best": {"provider": "acme", "model": "large"}}
    loaded = parsed(agent, providers={"acme": acme}, models=models)
    assert not loaded.errors
    (definition,) = loaded.file.agents
    found = definition.providers["acme"]
    assert (found.base_url, found.key_var) == ("https://llm.acme.example/v1", "ACME_API_KEY")
    assert found.requests.call_id_length == PROVIDERS["mistral"].requests.call_id_length
    assert found.requests.omits == ("x",)
    assert set(found.can) == {"tools", "json", "embeddings", "transcription"}
    assert list_models(definition) == ["acme/large", "acme/small", "openai/gpt", "acme/e"]
    assert loaded.file.known_providers["acme"] == found


def test_known_provider_gets_what_the_file_says_of_it() -> None:
    """The rest stays as it is known."""
    azure = {"baseUrl": "https://mine.openai.azure.com", "apiVersion": "2025-04-01"}
    agent = {"agentId": "a", "llmProvider": "azure", "model": "gpt-4o"}
    loaded = parsed(agent, providers={"azure": azure})
    assert not loaded.errors
    (definition,) = loaded.file.agents
    found = definition.providers["azure"]
    assert (found.api_version, found.key_header) == ("2025-04-01", "api-key")
    assert found.key_var == "AZURE_OPENAI_API_KEY"
    assert find_model_price(loaded.file, definition, "azure/gpt-4o") is not None  # as OpenAI's


def test_provider_of_the_file_is_priced_by_its_address() -> None:
    """And one whose vendor is not known has no price but the file's."""
    providers = {"second": {"baseUrl": "https://api.deepseek.com/v1"}, "acme": ACME}
    agents = [OWN, OWN | {"agentId": "b", "llmProvider": "second", "model": "deepseek-chat"}]
    file = parsed(*agents, providers=providers).file
    assert find_model_facts(file, file.find_agent("b"), "second/deepseek-chat") is not None
    assert find_model_facts(file, None, "second/deepseek-chat") is not None
    assert find_model_facts(file, file.find_agent("own"), "acme/large") is None


@pytest.mark.parametrize(
    ("providers", "said"),
    [
        ({"acme": {}}, "provider 'acme' has no baseUrl; set \"baseUrl\""),
        ({"mistrall": {"like": "mistral"}}, "has no baseUrl"),
        ({"grok": {"tools": False}}, 'did you mean "xai"?'),
        ({"auto": ACME}, "is a name with another meaning"),
        ({"acme": ACME | {"like": "mistrall"}}, 'did you mean "mistral"?'),
        ({"acme": ACME | {"keyVariable": "HOME"}}, "must end in KEY or TOKEN"),
        (
            {"acme": ACME | {"keyVariable": "TELEGRAM_BOT_TOKEN"}},
            "must not be another token of the daemon",
        ),
        ({"acme": ACME | {"keyVariable": "LD_KEY"}}, "must be the name of a variable"),
        ({"acme": ACME | {"keyvariable": "A_KEY"}}, 'did you mean "keyVariable"?'),
        ({"acme": ACME | {"omits": ["x", "model"]}}, 'must not have "model", which every request'),
        ({"acme": ACME | {"omits": ["messages"]}}, '"omits" must not have "messages", which every'),
        ({"a/b": ACME}, "providers: the name 'a/b' must be 1 to 64 letters"),
    ],
)
def test_what_cannot_be_used_is_said_with_its_remedy(providers: dict[str, Any], said: str) -> None:
    """In its line; agents of others go on."""
    loaded = parsed(WORK, providers=providers)
    (error,) = loaded.errors
    assert said in error.message
    assert error.line
    assert not loaded.file.providers


def test_agent_of_a_provider_with_an_error_is_told_of_that() -> None:
    """Not that the name is unknown."""
    loaded = parsed(WORK, OWN, providers={"acme": ACME | {"images": "yes"}})
    said = [error.message for error in loaded.errors]
    assert "agent 'own' names the provider 'acme', which has an error; correct that first" in said


def test_provider_like_another_of_the_file_is_told_to_name_a_known_one() -> None:
    """The other one has no error."""
    second = {"baseUrl": "https://second.example/v1", "like": "acme"}
    (error,) = parsed(WORK, providers={"acme": ACME, "second": second}).errors
    assert error.message == (
        "provider 'second': \"like\" must be a known provider, and 'acme' is defined only in this"
        " file; write the known one whose rules it has, or remove it"
    )


def test_use_that_a_provider_of_the_file_does_not_state_says_what_to_set() -> None:
    """The provider itself has no error."""
    hearing = WORK | {"voice": {"hear": {"provider": "acme", "model": "w"}}}
    (error,) = parsed(hearing, OWN, providers={"acme": ACME}).errors
    assert error.message == (
        "agent 'work': \"voice.hear.provider\" names the provider 'acme', which has no"
        ' transcription; set "transcription": true in providers.acme if its server has it'
    )
    assert not parsed(hearing, providers={"acme": ACME | {"transcription": True}}).errors


def test_agent_of_a_provider_without_an_address_is_left_out() -> None:
    """It is told where the address goes; a fallback without one is a warning."""
    azure = {"agentId": "a", "llmProvider": "azure", "model": "gpt"}
    loaded = parsed(WORK | {"fallbackModels": ["azure/gpt"]}, azure)
    assert [agent.agent_id for agent in loaded.file.agents] == ["work"]
    (error,) = loaded.errors
    assert '"llmProvider" names azure, which has no address of its own' in error.message
    warned = [p.message for p in loaded.problems if '"fallbackModels" names azure' in p.message]
    assert len(warned) == 1
    own = azure | {"baseUrl": "https://n.openai.azure.com"}
    assert not parsed(own).errors


def test_default_model_of_a_provider_is_that_of_agents_without_one() -> None:
    """Only a provider of the file has one that counts."""
    agent = {"agentId": "a", "llmProvider": "acme"}
    loaded = parsed(agent, providers={"acme": ACME | {"defaultModel": "large"}})
    assert not loaded.errors
    assert loaded.file.agents[0].model == "large"
    (error,) = parsed(WORK, agent, providers={"acme": ACME}).errors
    assert 'set "model"' in error.message


def test_key_of_another_provider_of_the_file_is_refused_in_env() -> None:
    """As that of a known one."""
    agent = WORK | {"agentId": "b", "env": {"ACME_API_KEY": "k"}}
    (error,) = parsed(WORK, agent, providers={"acme": ACME}).errors
    assert "the key of another provider" in error.message


def test_timeouts_of_a_provider_replace_the_usual_ones() -> None:
    """Those that are absent follow from the address."""
    timeouts = {"firstTokenSeconds": 1800, "connectSeconds": 30}
    loaded = parsed(OWN, providers={"acme": ACME | {"timeouts": timeouts}})
    assert not loaded.errors
    found = loaded.file.known_providers["acme"]
    assert found.timeouts == {"first_token": 1800, "connect": 30}
    assert not PROVIDERS["openai"].timeouts


@pytest.mark.parametrize(
    ("agent", "minutes"),
    [
        ({"baseUrl": "http://192.168.1.4:8080/v1"}, 60),
        ({"llmProvider": "ollama"}, 60),
        ({"llmProvider": "auto"}, 60),
        ({}, 15),
        ({"llmProvider": "ollama", "limits": {"turnMinutes": 5}}, 5),
    ],
)
def test_turns_of_local_models_may_take_longer(agent: dict[str, Any], minutes: int) -> None:
    """A slow machine needs minutes to the first word."""
    loaded = parsed({**OWN, "llmProvider": "openai", **agent})
    assert loaded.file.agents[0].turn_minutes == minutes


def test_what_the_agent_says_wins_over_its_profile() -> None:
    """The rest is that of the profile."""
    own = {**OWN, "llmProvider": "ollama", "profile": "small", "skills": ["a*"], "model": "m"}
    loaded = parsed(own | {"maxOutputTokens": 900})
    assert not loaded.errors
    (agent,) = loaded.file.agents
    assert (agent.skills, agent.max_output_tokens) == (("a*",), 900)
    assert not agent.fact_extraction.enabled
    assert "get_time" in agent.allowed_tools
