"""Addresses and headers of providers."""

import pytest

from thinker.protocol import model_endpoints
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.providers import PROVIDERS, Provider, relocate_provider, split_reference

AZURE = PROVIDERS["azure"]
DEPLOYED = "https://n.openai.azure.com/openai/deployments/"


@pytest.mark.parametrize(
    ("base", "url"),
    [
        (
            "https://n.openai.azure.com/",
            f"{DEPLOYED}my%2Fgpt/chat/completions?api-version=2024-10-21",
        ),
        (
            "https://n.openai.azure.com?api-version=2025-01-01",
            f"{DEPLOYED}my%2Fgpt/chat/completions?api-version=2025-01-01",
        ),
        (
            "https://n.openai.azure.com/openai/deployments/other",
            f"{DEPLOYED}other/chat/completions?api-version=2024-10-21",
        ),
        (
            "https://n.openai.azure.com/openai/v1/",
            "https://n.openai.azure.com/openai/v1/chat/completions",
        ),
    ],
)
def test_deployment_is_part_of_the_address(base: str, url: str) -> None:
    """With the version that the base or the provider names, which the newer API needs no more."""
    assert model_endpoints.build_chat_url(AZURE, base, "my/gpt") == url
    embeddings = url.replace("/chat/completions", "/embeddings")
    assert model_endpoints.build_use_url("embeddings", AZURE, base, "my/gpt") == embeddings


def test_each_provider_is_sent_its_key_where_it_looks_for_it() -> None:
    """As a bearer's token, or in a header of its own; no key is no header."""
    assert model_endpoints.build_headers(AZURE, "k") == {"api-key": "k"}
    assert model_endpoints.build_headers(PROVIDERS["gemini"], "k") == {"authorization": "Bearer k"}
    assert model_endpoints.build_headers(PROVIDERS["anthropic"], "k")["x-api-key"] == "k"
    assert model_endpoints.build_headers(PROVIDERS["gemini"], "") == {}


def test_every_deployment_of_an_agent_may_be_asked() -> None:
    """Each model has an address of its own."""
    settings = ThinkerSettings(
        llm_provider="azure",
        model="one",
        base_url="https://n.openai.azure.com",
        fallback_models=("azure/two", "mistral/m"),
        small_model="one",
    )
    urls = [used.url for used in model_endpoints.list_used_endpoints(settings)]
    assert [url.partition("/deployments/")[2].partition("/")[0] for url in urls] == [
        *("one", "two"),
        "",
    ]


@pytest.mark.parametrize(
    ("own", "entry", "expected"),
    [
        ("openrouter", "deepseek/deepseek-chat", ("openrouter", "deepseek/deepseek-chat")),
        ("openrouter", "anthropic/claude", ("anthropic", "claude")),
        ("openai", "deepseek/deepseek-chat", ("deepseek", "deepseek-chat")),
        ("groq", "qwen/qwen3-32b", ("groq", "qwen/qwen3-32b")),
        ("groq", "acme/large", ("acme", "large")),
        ("groq", "vendor/large", ("groq", "vendor/large")),
    ],
)
def test_text_before_a_slash_is_a_provider_where_it_can_be_none_of_a_models_name(
    own: str, entry: str, expected: tuple[str, str]
) -> None:
    """Some providers' models are called by the vendors that made them."""
    known = {**PROVIDERS, "acme": Provider("acme")}
    assert split_reference(entry, own, known) == expected


def test_rules_are_those_of_the_server_at_the_address() -> None:
    """A known one's own; elsewhere without what only the provider's own server knows."""
    openai = PROVIDERS["openai"]
    assert relocate_provider(openai, "https://api.openai.com/v1/") is openai
    there = relocate_provider(openai, "https://api.mistral.ai/v1")
    assert (there.name, there.requests) == ("openai", PROVIDERS["mistral"].requests)
    elsewhere = relocate_provider(openai, "http://127.0.0.1:1/v1").requests
    assert not elsewhere.cache_key
    assert relocate_provider(AZURE, "https://n.openai.azure.com") is AZURE


def test_worker_reads_the_providers_of_the_file() -> None:
    """All that is known of them survives the environment."""
    own = Provider("acme", base_url="https://a.example", key_var="ACME_API_KEY", can=("tools",))
    settings = ThinkerSettings(llm_provider="acme", model="m", providers=(own, AZURE))
    read = ThinkerSettings.read(settings.to_env())
    assert read == settings
    assert model_endpoints.list_known_providers(read)["acme"] == own
