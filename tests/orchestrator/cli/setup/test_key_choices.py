"""Which key an address may get, and under which name another one is stored."""

import pytest

from orchestrator.cli.setup.key_choices import KeyChoices
from orchestrator.cli.setup.model_account import account
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
    assert beside.allowed(account("openai")) == "sk-a"
    assert beside.allowed(account("https://api.deepseek.com/v1/")) == "sk-d"
    assert beside.allowed(account(URL)) == ""
    assert choices("b", {**FIRST, "baseUrl": URL}).allowed(account(URL)) == "sk-a"


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
    assert choices(agent_id, FIRST).named(account(URL), "sk-b").key_var == name


def test_no_key_means_that_the_address_gets_none() -> None:
    """agents.json says so, for otherwise the daemon would send that of the provider."""
    found = choices("b", FIRST).named(account(URL), "")
    assert found.fields("m")["env"] == {"OPENAI_API_KEY": ""}
    assert choices("b", FIRST).named(account("openai"), "sk-a") == account("openai")


def test_agents_at_one_address_share_a_variable() -> None:
    """An agent of one's own comes first."""
    other: JsonObject = {**FIRST, "baseUrl": URL, "env": {"OPENAI_API_KEY": "${MINE}"}}
    assert choices("b", other).known(account(URL)).key_var == "MINE"
    assert choices("b", FIRST).known(account(URL)) == account(URL)
