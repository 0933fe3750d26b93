"""What a person means by a provider."""

import pytest

from orchestrator.cli.setup.model_account import CHOICES, account, of_agent, with_a_key
from orchestrator.errors import ConfigError


@pytest.mark.parametrize("name", CHOICES)
def test_every_provider_that_is_offered_can_be_written_and_recognized(name: str) -> None:
    """An agent with the fields of an account has that account."""
    found = account(name)
    assert of_agent({"agentId": "a", **found.fields("m")}, {}) == found


def test_vendor_gets_the_key_that_its_own_documentation_names() -> None:
    """agents.json has the name of the key, not the key."""
    assert account("Mistral AI").fields("m") == {
        "llmProvider": "openai",
        "model": "m",
        "baseUrl": "https://api.mistral.ai/v1",
        "env": {"OPENAI_API_KEY": "${MISTRAL_API_KEY}"},
    }


def test_server_of_ones_own_needs_no_key() -> None:
    """The usual address of a provider is not written."""
    assert not account("http://127.0.0.1:8000/v1").needs_key
    usual = account("openai", "https://api.openai.com/v1/")
    assert (usual.base_url, usual.needs_key) == ("", True)


def test_unknown_provider_is_refused_with_those_that_exist() -> None:
    """And with the way to any other."""
    with pytest.raises(ConfigError, match="https://HOST/v1") as caught:
        account("quux")
    assert "groq" in str(caught.value)


def test_agent_that_takes_any_provider_has_the_one_with_a_key() -> None:
    """Without a key it has the demo; an agent whose key stands in the file has no name for it."""
    keys = {"GROQ_API_KEY": "k", "DEEPSEEK_API_KEY": "k"}
    assert of_agent({"llmProvider": "auto"}, keys) == account("groq")
    assert of_agent({"llmProvider": "auto"}, {}) == account("demo")
    assert with_a_key({"DEEPSEEK_API_KEY": "k"}) == account("deepseek")
    plain = of_agent({"env": {"GROQ_API_KEY": "gsk"}}, {})
    assert plain is not None
    assert (plain.name, plain.key_var, plain.key_in_file) == ("groq", None, True)
