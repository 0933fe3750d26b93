"""Agents that nothing reaches, or that strangers reach, and settings that open jails, are told."""

from fakes.agents_file import WORK, parsed

from orchestrator.agentsfile import LoadedConfig


def messages(loaded: LoadedConfig) -> list[str]:
    """The warnings about a file without errors."""
    assert not loaded.errors
    return [problem.message for problem in loaded.problems]


def test_agents_in_no_binding_are_warned_about_once() -> None:
    """They cost nothing but are probably forgotten, unless they are meant as tools."""
    many = [WORK | {"agentId": f"a{number}"} for number in range(7)]
    (warning,) = messages(parsed(*many, bindings=[]))
    assert "no binding leads to a0, a1, a2, a3, a4 and 2 more; " in warning
    (warning,) = messages(parsed(WORK, bindings=[]))
    assert "no binding leads to work; " in warning
    tool = messages(parsed(WORK | {"asTool": "subagent"}, bindings=[]))
    assert not any("no binding" in message for message in tool)


def test_openings_of_the_wall_between_agents_are_named() -> None:
    """They are wanted, so they are warnings; nothing is said about the default."""
    assert messages(parsed(WORK)) == []
    off, network = (
        messages(parsed(WORK, sandbox="off")),
        messages(parsed(WORK | {"allowHooks": True, "hookNetwork": True})),
    )
    assert [('"sandbox" is "off"' in off[0]), ('"hookNetwork"' in network[0])] == [True, True]


def test_memory_of_all_chats_is_warned_of_where_strangers_may_come() -> None:
    """The warning names what lets them in."""
    everybody = {"channel": "carrier", "chatId": "*", "agentId": "work"}
    one = {**everybody, "chatId": "1"}
    shared = {**WORK, "memory": "agent"}
    for more, name in (
        ({"bindings": [everybody]}, "the binding carrier:*"),
        ({"fallbackAgentId": "work"}, '"fallbackAgentId"'),
        ({"bindings": [one], "channels": {"carrier": {"access": "open"}}}, '"access": "open"'),
    ):
        (found,) = messages(parsed(shared, **more))
        assert "agent 'work' has one memory for all chats" in found
        assert name in found
    assert '"port"' in messages(parsed({**shared, "port": 0}))[0]
    for agent in (shared, {**WORK, "memory": "person"}):
        assert messages(parsed(agent)) == []
    assert messages(parsed(WORK, bindings=[everybody])) == []
