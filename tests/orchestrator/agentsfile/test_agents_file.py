"""Parts of agents.json that refer to one another, and the sections beside the agents."""

import json
from typing import Any

import pytest
from fakes.agents_file import WORK, parsed

from orchestrator.agentsfile import LoadedConfig, TelegramChannel, diff, parse
from orchestrator.agentsfile.agents_file import Retention
from orchestrator.agentsfile.problems import AgentsFileError


def messages(loaded: LoadedConfig, severity: str) -> list[str]:
    """The messages of one severity."""
    return [problem.message for problem in loaded.problems if problem.severity == severity]


def test_duplicate_agent_names_both_lines_and_the_first_stays() -> None:
    """A copied agent that was not renamed."""
    text = b'{"agents": [\n{"agentId": "a", "model": "1"},\n{"agentId": "a", "model": "2"}]}'
    loaded = parse(text)
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
    good = {"channel": "telegram", "chatId": "1", "agentId": "work"}
    loaded = parsed(WORK, bindings=[good | fields, good])
    assert [binding.place for binding in loaded.file.bindings] == ["telegram:1"]
    assert len(loaded.errors) == 1


def test_binding_to_an_unknown_agent_is_an_error_and_still_keeps_its_chat_from_others() -> None:
    """A typo refuses the chat; another binding's agent must not read what was not for it."""
    typo = {"channel": "telegram", "chatId": "1", "agentId": "wrok"}
    rest = {"channel": "telegram", "chatId": "*", "agentId": "work"}
    loaded = parsed(WORK, bindings=[typo, rest])
    assert [error.message for error in loaded.errors] == [
        "binding telegram:1 names the unknown agent 'wrok'; did you mean \"work\"?"
    ]
    assert [binding.agent_id for binding in loaded.file.bindings] == ["wrok", "work"]


def test_binding_to_an_agent_like_no_other_says_what_to_do() -> None:
    """Its agent may be missing because of another error, so removing is not the only advice."""
    loaded = parsed(WORK, bindings=[{"channel": "console", "chatId": "*", "agentId": "zebra"}])
    assert [error.message for error in loaded.errors] == [
        "binding console:* names the unknown agent 'zebra'; add this agent or remove the binding"
    ]


def test_binding_without_effect_is_warned_about() -> None:
    """A repeated place, a disabled agent, a partial wildcard, an unknown channel."""
    off = {"agentId": "off", "model": "m", "enabled": False}
    bindings = [
        {"channel": "telegram", "chatId": "1", "agentId": "work"},
        {"channel": "telegram", "chatId": "1", "agentId": "work"},
        {"channel": "telegram", "chatId": "2", "agentId": "off"},
        {"channel": "telegram", "chatId": "3*", "agentId": "work"},
        {"channel": "telegrm", "chatId": "4", "agentId": "work"},
    ]
    loaded = parsed(WORK, off, bindings=bindings)
    assert not loaded.errors
    words = ("never applies", "disabled agent", "matches no chat", 'mean "telegram"?')
    found = messages(loaded, "warning")
    assert len(found) == 4
    assert all(any(word in message for message in found) for word in words)


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


def test_mcp_servers_of_other_hosts_are_accepted_with_warnings() -> None:
    """A copied section loads; unknown fields are named."""
    servers = {
        "files": {"command": "npx", "args": ["x"], "disable": True},
        "web": {"url": "http://h", "disabled": True},
    }
    loaded = parsed(WORK, mcpServers=servers)
    assert not loaded.errors
    assert set(loaded.file.mcp_servers) == {"files", "web"}
    (unknown,) = (text for text in messages(loaded, "warning") if "is unknown" in text)
    assert unknown.endswith('"disable" is unknown and ignored; did you mean "disabled"?')
    assert [server.runs for server in loaded.file.mcp_servers.values()] == [True, False]


@pytest.mark.parametrize(
    ("server", "advice"),
    [
        ({"url": "http://h/mcp", "type": "websocket"}, '"url"; write "http" or "sse", or remove'),
        ({"url": "http://h/sse", "type": "SSE"}, '"url"; write "http" or "sse", or remove'),
        ({"command": "true", "type": "sse"}, '"command"; write "stdio", or remove'),
        ({"url": "http://h/mcp", "type": "streamable-http"}, ""),
        ({"command": "true", "type": "stdio"}, ""),
    ],
)
def test_transport_that_does_not_fit_the_server_is_warned_about(
    server: dict[str, str], advice: str
) -> None:
    """It has no effect; names that other hosts give to streamable HTTP fit."""
    found = messages(parsed(WORK, mcpServers={"s": server}), "warning")
    about = [text for text in found if "the type" in text]
    assert len(about) == bool(advice)
    assert all(advice in text for text in about)


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
    loaded = parsed(WORK, channels={"telegram": {"access": "opne"}})
    assert loaded.file.channels.telegram == TelegramChannel(enabled=False)
    assert loaded.file.channels.console.enabled
    assert loaded.errors


def test_allowlist_takes_numeric_ids_only() -> None:
    """User names can change hands."""
    telegram = {"access": "allowlist", "allowlist": [42, "-7"]}
    assert parsed(WORK, channels={"telegram": telegram}).file.channels.telegram.allowlist == (
        "42",
        "-7",
    )
    assert parsed(WORK, channels={"telegram": {"allowlist": ["@me"]}}).errors


def test_missing_key_is_warned_about() -> None:
    """The agent's own env counts; a custom address may need no key; auto looks for itself."""
    agents = [
        WORK,
        WORK | {"agentId": "own", "env": {"GROQ_API_KEY": "x"}},
        WORK | {"agentId": "proxied", "baseUrl": "http://127.0.0.1:1/v1"},
        {"agentId": "free", "llmProvider": "auto"},
    ]
    data = json.dumps({"agents": agents, "fallbackAgentId": "work"}).encode()
    warned = [p.agent_id for p in parse(data, environ={}).problems if "GROQ_API_KEY" in p.message]
    assert warned == ["work"]
    assert not any(
        "API_KEY" in p.message for p in parse(data, environ={"GROQ_API_KEY": "x"}).problems
    )


def test_agents_in_no_binding_are_warned_about_once() -> None:
    """They cost nothing but are probably forgotten, unless they are meant as tools."""
    many = [WORK | {"agentId": f"a{number}"} for number in range(7)]
    (warning,) = messages(parsed(*many, bindings=[]), "warning")
    assert "no binding leads to a0, a1, a2, a3, a4 and 2 more; " in warning
    (warning,) = messages(parsed(WORK, bindings=[]), "warning")
    assert "no binding leads to work; " in warning
    tool = messages(parsed(WORK | {"asTool": "subagent"}, bindings=[]), "warning")
    assert not any("no binding" in message for message in tool)


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
    result = diff(old, new)
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


def test_embeddings_need_a_place_a_key_and_for_budgets_a_price() -> None:
    """Each is said with the agent and the field; a server of one's own needs no key."""

    def said(environ: dict[str, str], **embeddings: str) -> str:
        agent = {"llmProvider": "ollama", "embeddings": embeddings, "budget": {"usdPerDay": 1}}
        text = json.dumps({"agents": [WORK | agent]}).encode()
        return " ".join(messages(parse(text, environ=environ), "warning"))

    with pytest.raises(AgentsFileError, match='needs "provider" or "baseUrl"'):
        said({}, model="e")
    assert "because OPENAI_API_KEY is not set" in said({}, model="e", provider="openai")
    assert "openai/e has no price" in said({}, model="e", provider="openai")
    assert "_KEY" not in said({"OPENAI_API_KEY": "k"}, model="e", provider="openai")
    assert "_KEY" not in said({}, model="e", baseUrl="http://127.0.0.1:8/v1")


def test_agent_may_bring_the_key_of_its_embeddings() -> None:
    """And of no other provider."""
    agent = WORK | {"embeddings": {"model": "e", "provider": "openai"}}
    assert not parsed(agent | {"env": {"OPENAI_API_KEY": "k"}}).errors
    with pytest.raises(AgentsFileError, match="the key of another provider"):
        parsed(agent | {"env": {"ANTHROPIC_API_KEY": "k"}})


def test_openings_of_the_wall_between_agents_are_named() -> None:
    """They are wanted, so they are warnings; nothing is said about the default."""
    assert messages(parsed(WORK), "warning") == []
    off, network = (
        messages(parsed(WORK, sandbox="off"), "warning"),
        messages(parsed(WORK | {"allowHooks": True, "hookNetwork": True}), "warning"),
    )
    assert [('"sandbox" is "off"' in off[0]), ('"hookNetwork"' in network[0])] == [True, True]


def test_memory_of_all_chats_is_warned_of_where_strangers_may_come() -> None:
    """The warning names what lets them in."""
    everybody = {"channel": "telegram", "chatId": "*", "agentId": "work"}
    shared = {**WORK, "memory": "agent"}
    for more, name in (
        ({"bindings": [everybody]}, "the binding telegram:*"),
        ({"fallbackAgentId": "work"}, '"fallbackAgentId"'),
        ({"channels": {"telegram": {"access": "open"}}}, '"access": "open"'),
    ):
        (found,) = messages(parsed(shared, **more), "warning")
        assert "agent 'work' has one memory for all chats" in found
        assert name in found
    assert '"port"' in messages(parsed({**shared, "port": 0}), "warning")[0]
    for agent in (shared, {**WORK, "memory": "person"}):
        assert messages(parsed(agent), "warning") == []
    assert messages(parsed(WORK, bindings=[everybody]), "warning") == []


def test_sandbox_that_is_not_understood_is_an_error_and_means_the_strictest() -> None:
    """A slip must not open what its author wanted closed."""
    for wrong in ("on", True, None, ["off"]):
        loaded = parsed(WORK, sandbox=wrong)
        assert '"sandbox" must be' in messages(loaded, "error")[0]
        assert loaded.file.sandbox == "required"


@pytest.mark.parametrize(
    ("server", "said"),
    [
        ({"command": "no-such-program"}, ["install it or write its whole path"]),
        (
            {"command": "sh -c x"},
            ['write the program alone, "sh", and each further word in "args"'],
        ),
        ({"command": "sh", "args": ["-c", "x"]}, []),
        ({"command": "./server", "cwd": "/elsewhere"}, []),
        ({"command": "no-such-program", "disabled": True}, []),
        ({"url": "http://127.0.0.1:1/mcp"}, []),
    ],
)
def test_program_of_a_server_that_is_not_here_gets_a_warning(
    server: dict[str, object], said: list[str]
) -> None:
    """Before the first start, with its line."""
    text = json.dumps({"agents": [WORK], "fallbackAgentId": "work", "mcpServers": {"s": server}})
    warnings = parse(text.encode(), environ={"PATH": "/bin:/usr/bin", "GROQ_API_KEY": "k"}).problems
    assert [problem.message.partition("here; ")[2] for problem in warnings] == said
    assert {(problem.severity, problem.line) for problem in warnings} <= {("warning", 1)}
