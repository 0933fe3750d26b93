"""What a person means by a provider."""

import pytest

from orchestrator.errors import ConfigError
from orchestrator.extensions.setup.model_account import (
    ModelAccount,
    find_account,
    find_account_with_key,
    find_agent_account,
)
from thinker.protocol.messages import JsonObject
from thinker.protocol.providers import PROVIDERS


@pytest.mark.parametrize("name", PROVIDERS)
def test_every_provider_that_is_offered_can_be_written_and_recognized(name: str) -> None:
    """An agent with the fields of an account has that account."""
    found = find_account(name)
    assert find_agent_account({"agentId": "a", **found.build_fields("m")}, {}) == found


def test_provider_is_written_by_its_name_alone() -> None:
    """Its address and its variable are known; a key of another name stands beside it."""
    found = find_account("Mistral AI")
    assert found.build_fields("m") == {"llmProvider": "mistral", "model": "m"}
    assert found == find_account("https://api.mistral.ai/v1/")
    own = ModelAccount(found.name, found.provider, key_var="WORK_API_KEY")
    assert own.build_fields("m")["env"] == {"MISTRAL_API_KEY": "${WORK_API_KEY}"}


def test_older_file_that_names_an_address_is_recognized() -> None:
    """The key is the one that it names."""
    older: JsonObject = {
        "llmProvider": "openai",
        "baseUrl": "https://api.mistral.ai/v1",
        "env": {"OPENAI_API_KEY": "${MISTRAL_API_KEY}"},
    }
    found = find_agent_account(older, {})
    assert found is not None
    assert (found.name, found.provider.name, found.key_var) == (
        *("mistral", "openai"),
        "MISTRAL_API_KEY",
    )
    assert found.build_fields("m") == {**older, "model": "m"}
    assert found.needs_key


def test_resource_at_azure_is_recognized_by_its_address() -> None:
    """It wants a key."""
    found = find_account("https://mine.openai.azure.com")
    assert (found.name, found.needs_key) == ("azure", True)
    assert found.build_fields("gpt")["baseUrl"] == "https://mine.openai.azure.com"


def test_server_of_ones_own_needs_no_key() -> None:
    """The usual address of a provider is not written."""
    assert not find_account("http://127.0.0.1:8000/v1").needs_key
    usual = find_account("openai", "https://api.openai.com/v1/")
    assert (usual.base_url, usual.needs_key) == ("", True)


def test_unknown_provider_is_refused_with_those_that_exist() -> None:
    """And with the way to any other."""
    with pytest.raises(ConfigError, match="https://HOST/v1") as caught:
        find_account("quux")
    assert "groq" in str(caught.value)


def test_agent_that_takes_any_provider_has_the_one_with_a_key() -> None:
    """Without a key it has the demo; an agent whose key stands in the file has no name for it."""
    keys = {"GROQ_API_KEY": "k", "DEEPSEEK_API_KEY": "k"}
    assert find_agent_account({"llmProvider": "auto"}, keys) == find_account("groq")
    assert find_agent_account({"llmProvider": "auto"}, {}) == find_account("demo")
    assert find_account_with_key({"DEEPSEEK_API_KEY": "k"}) == find_account("deepseek")
    plain = find_agent_account({"env": {"GROQ_API_KEY": "gsk"}}, {})
    assert plain is not None
    assert (plain.name, plain.key_var, plain.key_in_file) == ("groq", None, True)
