"""Names of providers that people write, and what they are told to write."""

from typing import Any

import pytest
from fakes.agents_file import WORK, parsed

from orchestrator.agentsfile.provider_names import ALIASES, match_provider_name
from thinker.protocol.providers import PROVIDERS


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("grok", 'did you mean "xai"?'),
        ("Mistral AI", 'did you mean "mistral"?'),
        ("google", 'did you mean "gemini"?'),
        ("Open-Router", 'did you mean "openrouter"?'),
        ("claude", 'did you mean "anthropic"?'),
        ("antropic", 'did you mean "anthropic"?'),
        ("deepseak", 'did you mean "deepseek"?'),
        ("quux", 'add it to "providers" with the "baseUrl" of its OpenAI-compatible API'),
    ],
)
def test_unknown_provider_is_answered_with_what_to_write(name: str, said: str) -> None:
    """In the one message about it."""
    (error,) = parsed(WORK, WORK | {"agentId": "b", "llmProvider": name}).errors
    assert said in error.message
    (error,) = parsed(
        WORK, WORK | {"agentId": "b", "embeddings": {"model": "m", "provider": name}}
    ).errors
    assert "must be a provider that has embeddings" in error.message


@pytest.mark.parametrize("name", PROVIDERS)
def test_each_known_provider_can_be_named(name: str) -> None:
    """With a model, and for embeddings if it has any."""
    own: dict[str, Any] = {"llmProvider": name, "model": "m", "agentId": "b"}
    if "embeddings" in PROVIDERS[name].can:
        own["embeddings"] = {"model": "e", "provider": name}
    azure = {"baseUrl": "https://n.openai.azure.com"}
    assert not parsed(WORK, own, providers={"azure": azure}).errors


def test_other_names_lead_to_a_provider() -> None:
    """And no name has two meanings."""
    assert {match_provider_name(alias) for alias in ALIASES} <= PROVIDERS.keys()
    assert not ALIASES.keys() & PROVIDERS.keys()
    assert len(ALIASES) == sum(len(provider.aliases) for provider in PROVIDERS.values())
