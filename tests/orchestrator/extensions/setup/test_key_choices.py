"""Which key an address may get, and under which name another one is stored."""

import pytest

from orchestrator.extensions.setup.key_choices import KeyChoices
from orchestrator.extensions.setup.model_account import find_account
from thinker.protocol.messages import JsonObject

KEYS = {"OPENAI_API_KEY": "sk-a", "DEEPSEEK_API_KEY": "sk-d"}
URL = "http://127.0.0.1:1/v1"
FIRST: JsonObject = {"agentId": "first", "llmProvider": "openai"}


def choices(agent_id: str, *agents: JsonObject) -> KeyChoices:
    """Those of an agent beside others."""
    return KeyChoices(agent_id, agents, KEYS)


def test_key_goes_to_its_provider_and_where_an_agent_uses_it() -> None:
    """Not to any other address."""
    beside = choices("b", FIRST)
    assert beside.find_allowed_key(find_account("openai")) == "sk-a"
    assert beside.find_allowed_key(find_account("https://api.deepseek.com/v1/")) == "sk-d"
    assert beside.find_allowed_key(find_account(URL)) == ""
    assert choices("b", {**FIRST, "baseUrl": URL}).find_allowed_key(find_account(URL)) == "sk-a"


@pytest.mark.parametrize(
    ("agent_id", "name"),
    [
        ("b", "B_API_KEY"),
        ("my-b.2", "MY_B_2_API_KEY"),
        ("7", "AGENT_7_API_KEY"),
        ("openai", "OPENAI_2_API_KEY"),
        ("first", "OPENAI_API_KEY"),
    ],
)
def test_another_key_is_named_after_the_agent_unless_it_alone_uses_the_variable(
    agent_id: str, name: str
) -> None:
    """No name is one that a vendor has."""
    assert choices(agent_id, FIRST).assign_key_variable(find_account(URL), "sk-b").key_var == name


def test_no_key_means_that_the_address_gets_none() -> None:
    """agents.json says so, for otherwise the daemon would send that of the provider."""
    found = choices("b", FIRST).assign_key_variable(find_account(URL), "")
    assert found.build_fields("m")["env"] == {"OPENAI_API_KEY": ""}
    assert choices("b", FIRST).assign_key_variable(find_account("openai"), "sk-a") == find_account(
        "openai"
    )


def test_agents_at_one_address_share_a_variable() -> None:
    """An agent of one's own comes first."""
    other: JsonObject = {**FIRST, "baseUrl": URL, "env": {"OPENAI_API_KEY": "${MINE}"}}
    assert choices("b", other).reuse_key_variable(find_account(URL)).key_var == "MINE"
    assert choices("b", FIRST).reuse_key_variable(find_account(URL)) == find_account(URL)
