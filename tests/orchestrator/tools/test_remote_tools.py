"""Tools of servers as the core knows them, also where nothing keeps the servers."""

from fakes.time_limit import time_limit

from orchestrator.agentsfile import AgentDefinition, McpServer
from orchestrator.tools.remote_tools import NoRemoteTools, RemoteTools, find_owner

AGENT = AgentDefinition.model_validate({"agentId": "work", "model": "m"})


def test_name_belongs_to_the_server_with_the_longest_prefix() -> None:
    """Characters that no provider accepts count as underscores."""
    servers = {"git", "git.hub", "wiki"}
    assert find_owner("git_hub_push", servers) == "git.hub"
    assert find_owner("git_push", servers) == "git"
    assert find_owner("wikipedia", servers) == ""


async def test_daemon_without_an_extension_for_servers_has_no_tools_of_any() -> None:
    """Nothing waits for servers that cannot come."""
    tools: RemoteTools = NoRemoteTools()
    with time_limit():
        await tools.define_servers({"s": McpServer(command="sh")}, {}, "auto", ())
        assert await tools.wait_until_ready(AGENT) == ()
        await tools.wait_for_tool("s_echo", "work", lambda _: None)
    assert tools.list_states() == ()
    assert tools.list_agent_tools("work") == tools.list_answering_tools("work") == {}
    assert tools.list_withheld_tools() == {}
    assert tools.find_command_tool("work") == ""
    assert tools.child is None
    assert tools.explain_missing_tool("s_echo", "work").startswith("there is no tool 's_echo'")
