"""Names of providers that people write, and what they are told to write."""

import pytest
from fakes.agents_file import WORK, parsed

from orchestrator.agentsfile.vendors import ALIASES, VENDORS, named
from thinker.protocol.providers import PROVIDERS


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("grok", 'did you mean "groq"? For xai use "openai" with "baseUrl": "https://api.x.ai/v1"'),
        ("deepseek", '"baseUrl": "https://api.deepseek.com/v1"'),
        ("Mistral AI", '"env": {"OPENAI_API_KEY": "${MISTRAL_API_KEY}"}'),
        ("google", '"baseUrl": "https://generativelanguage.googleapis.com/v1beta/openai"'),
        ("Open-Router", 'did you mean "openrouter"?'),
        ("claude", 'did you mean "anthropic"?'),
        ("antropic", 'did you mean "anthropic"?'),
        ("quux", 'use "openai" with the "baseUrl" of its OpenAI-compatible API'),
    ],
)
def test_unknown_provider_is_answered_with_what_to_write(name: str, said: str) -> None:
    """In the one message about it."""
    (error,) = parsed(WORK, WORK | {"agentId": "b", "llmProvider": name}).errors
    assert said in error.message


def test_what_is_advised_can_be_used() -> None:
    """Each address and each variable is accepted as it stands in the advice."""
    for number, vendor in enumerate(VENDORS.values()):
        own = {"llmProvider": "openai", "baseUrl": vendor.base_url, "agentId": f"a{number}"}
        assert not parsed(WORK | own).errors
        assert vendor.key_var is None or vendor.key_var.isidentifier()


def test_other_names_lead_to_a_vendor_or_a_provider() -> None:
    """And no name has two meanings."""
    assert {named(alias) for alias in ALIASES} <= VENDORS.keys() | PROVIDERS.keys()
    assert not VENDORS.keys() & PROVIDERS.keys()
    assert not ALIASES.keys() & (VENDORS.keys() | PROVIDERS.keys())
