"""Parts of agents.json that refer to one another, and the sections beside the agents."""

from typing import Any

import pytest
from fakes.agents_file import WORK, parsed
from fakes.carrier import CarrierChannel

from orchestrator.agentsfile import LoadedConfig, diff_agents, parse_agents_file
from orchestrator.agentsfile.agents_file import Retention
from orchestrator.agentsfile.problems import AgentsFileError


def messages(loaded: LoadedConfig, severity: str) -> list[str]:
    """The messages of one severity."""
    return [problem.message for problem in loaded.problems if problem.severity == severity]


def test_duplicate_agent_names_both_lines_and_the_first_stays() -> None:
    """A copied agent that was not renamed."""
    text = b'{"agents": [\n{"agentId": "a", "model": "1"},\n{"agentId": "a", "model": "2"}]}'
    loaded = parse_agents_file(text)
    (error,) = loaded.errors
    assert error.line == 3
    assert "first in line 2" in error.message
    assert [agent.model for agent in loaded.file.agents] == ["1"]


def test_two_agents_cannot_share_a_port() -> None:
    """Port 0 is picked at start, so it may stand anywhere."""
    assert parsed(WORK | {"port": 9}, {"agentId": "b", "model": "m", "port": 9}).errors
    assert not parsed(WORK | {"port": 0}, {"agentId": "b", "model": "m", "port": 0}).errors


@pytest.mark.parametrize(
    "fields",
    [
        {"channel": "*"},
        {"chatId": ""},
        {"chatId": True},
        {"chatId": "*", "threadId": "7"},
    ],
)
def test_unusable_binding_is_dropped_with_an_error(fields: dict[str, Any]) -> None:
    """The other bindings stay."""
    good = {"channel": "carrier", "chatId": "1", "agentId": "work"}
    loaded = parsed(WORK, bindings=[good | fields, good])
    assert [binding.place for binding in loaded.file.bindings] == ["carrier:1"]
    assert len(loaded.errors) == 1


def test_binding_to_an_unknown_agent_is_an_error_and_still_keeps_its_chat_from_others() -> None:
    """A typo refuses the chat; another binding's agent must not read what was not for it."""
    typo = {"channel": "carrier", "chatId": "1", "agentId": "wrok"}
    rest = {"channel": "carrier", "chatId": "*", "agentId": "work"}
    loaded = parsed(WORK, bindings=[typo, rest])
    assert [error.message for error in loaded.errors] == [
        "binding carrier:1 names the unknown agent 'wrok'; did you mean \"work\"?"
    ]
    assert [binding.agent_id for binding in loaded.file.bindings] == ["wrok", "work"]


def test_binding_to_an_agent_like_no_other_says_what_to_do() -> None:
    """Its agent may be missing because of another error, so removing is not the only advice."""
    loaded = parsed(WORK, bindings=[{"channel": "console", "chatId": "*", "agentId": "zebra"}])
    assert [error.message for error in loaded.errors] == [
        "binding console:* names the unknown agent 'zebra'; add this agent or remove the binding"
    ]


def test_binding_to_an_unknown_channel_is_warned_about() -> None:
    """The nearest one is named."""
    bindings = [{"channel": "carier", "chatId": "4", "agentId": "work"}]
    loaded = parsed(WORK, bindings=bindings)
    assert not loaded.errors
    (message,) = messages(loaded, "warning")
    assert message.endswith('did you mean "carrier"?')


def test_unknown_fallback_is_refused_and_dropped() -> None:
    """Messages must never get lost silently."""
    loaded = parsed(WORK, fallbackAgentId="wrok")
    assert loaded.file.fallback_agent_id is None
    assert loaded.errors[0].message.endswith('did you mean "work"?')


def test_fallback_on_an_invalid_agent_is_dropped() -> None:
    """The agent's own error says what is wrong."""
    loaded = parsed(WORK, {"agentId": "Bad", "model": "m"}, fallbackAgentId="Bad", bindings=[])
    assert loaded.file.fallback_agent_id is None
    assert [error.path for error in loaded.errors] == ["agents[1].agentId"]


@pytest.mark.parametrize(
    "headers", [{"A B": "x"}, {"A": "two\nlines"}, {"A": " x"}, {"Content-Length": "1"}]
)
def test_mcp_server_with_a_header_that_no_request_can_carry_is_left_out(
    headers: dict[str, str],
) -> None:
    """It could not be connected, or would cut requests off."""
    loaded = parsed(WORK, mcpServers={"s": {"url": "http://h/mcp", "headers": headers}})
    (error,) = loaded.errors
    assert "server 's': \"headers\"" in error.message
    assert not loaded.file.mcp_servers


@pytest.mark.parametrize("fields", [{"fallbackModels": ["openai/"]}, {"smallModel": "openai/ "}])
def test_other_model_without_a_name_is_refused(fields: dict[str, Any]) -> None:
    """It could never be asked."""
    (error,) = parsed(WORK | fields, {"agentId": "b", "model": "m", "smallModel": "/a/b"}).errors
    assert 'must be "model" or "provider/model", not' in error.message


def test_field_in_the_wrong_place_is_told_where_it_belongs() -> None:
    """Not to remove it."""
    fields = {"limits": {"maxSteps": 3}, "sandbox": "off"}
    loaded = parsed(WORK, {**WORK, "agentId": "b", **fields}, temperature=1)
    assert [problem.message for problem in loaded.errors] == [
        "agent 'b' has an unknown field \"limits.maxSteps\"; it belongs in an agent",
        "agent 'b' has an unknown field \"sandbox\"; it belongs at the top of the file",
        'unknown field "temperature"; it belongs in an agent',
    ]


@pytest.mark.parametrize("server", [{}, {"command": "a", "url": "http://h"}, {"command": ""}, 3])
def test_mcp_server_without_one_transport_is_left_out(server: object) -> None:
    """The other servers stay."""
    loaded = parsed(WORK, mcpServers={"bad": server, "good": {"command": "a"}})
    assert set(loaded.file.mcp_servers) == {"good"}
    assert loaded.errors


def test_channel_with_an_error_is_switched_off() -> None:
    """A misspelt access rule must not open a channel to anyone."""
    loaded = parsed(WORK, channels={"carrier": {"access": "opne"}})
    assert loaded.file.channels.get_settings(CarrierChannel) == CarrierChannel(enabled=False)
    assert loaded.file.channels.console.enabled
    assert loaded.errors


def test_allowlist_takes_numeric_ids_only() -> None:
    """User names can change hands."""
    carrier = {"access": "allowlist", "allowlist": [42, "-7"]}
    channels = parsed(WORK, channels={"carrier": carrier}).file.channels
    assert channels.get_settings(CarrierChannel).allowlist == ("42", "-7")
    assert parsed(WORK, channels={"carrier": {"allowlist": ["@me"]}}).errors


def test_diff_tells_what_happened_to_each_agent() -> None:
    """A disabled agent counts as absent."""
    names = ("same", "edited", "switched-off", "gone")
    old = parsed(*({"agentId": name, "model": "m"} for name in names)).file
    new = parsed(
        {"agentId": "same", "model": "m"},
        {"agentId": "edited", "model": "n"},
        {"agentId": "switched-off", "model": "m", "enabled": False},
        {"agentId": "new", "model": "m"},
    ).file
    result = diff_agents(old, new)
    assert result.added == {"new"}
    assert result.removed == {"switched-off", "gone"}
    assert result.changed == {"edited"}
    assert result.unchanged == {"same"}


def test_retention_is_read_and_its_mistakes_are_named() -> None:
    """A week at least: repeated updates are known by what is kept."""
    assert parsed(WORK, retention={"turnDays": 8}).file.retention == (Retention(turn_days=8))
    wrong = parsed(WORK, retention={"turnDays": 6, "days": 1})
    assert len(wrong.errors) == 2
    assert wrong.file.retention == Retention()


def test_embeddings_need_a_place() -> None:
    """A provider or an address."""
    agent = WORK | {"embeddings": {"model": "e"}}
    with pytest.raises(AgentsFileError, match='needs "provider" or "baseUrl"'):
        parsed(agent)


def test_agent_may_bring_the_key_of_its_embeddings() -> None:
    """And of no other provider."""
    agent = WORK | {"embeddings": {"model": "e", "provider": "openai"}}
    assert not parsed(agent | {"env": {"OPENAI_API_KEY": "k"}}).errors
    with pytest.raises(AgentsFileError, match="the key of another provider"):
        parsed(agent | {"env": {"ANTHROPIC_API_KEY": "k"}})


def test_sandbox_that_is_not_understood_is_an_error_and_means_the_strictest() -> None:
    """A slip must not open what its author wanted closed."""
    for wrong in ("on", True, None, ["off"]):
        loaded = parsed(WORK, sandbox=wrong)
        assert '"sandbox" must be' in messages(loaded, "error")[0]
        assert loaded.file.sandbox == "required"


def test_models_that_may_be_called_are_those_of_enabled_agents() -> None:
    """With those of fields besides the model, for programs that serve them here."""
    off = {"agentId": "off", "llmProvider": "groq", "model": "big", "enabled": False}
    loaded = parsed(WORK | {"llmProvider": "openai", "smallModel": "local/tiny"}, off)
    assert loaded.file.list_called_models() == {f"openai/{WORK['model']}", "local/tiny"}


def test_file_of_a_share_finds_only_its_agents() -> None:
    """What was looked up in the whole file before does not count."""
    file = parsed(WORK, {"agentId": "b", "model": "m"}).file
    share = frozenset({"b"})
    own = file.select_agents(share)
    assert file.select_agents(share) is own
    assert file.find_agent(WORK["agentId"]) is not None
    assert own.find_agent(WORK["agentId"]) is None
    assert own.list_enabled_ids() == {"b"}
