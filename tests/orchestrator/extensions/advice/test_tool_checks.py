"""Names of tools in agents.json that nothing offers."""

import pytest
from fakes.agents_file import validate_file

from orchestrator.agentsfile import AgentsFile
from orchestrator.extensions.advice.tool_checks import check_tool_names
from orchestrator.tools.host_tools import find_host_tools
from orchestrator.tools.tool_server import list_servable_tools


def agents_file(**fields: object) -> AgentsFile:
    """An agent with these fields, beside another and an MCP server."""
    agents = [
        {"agentId": "work", "llmProvider": "demo", **fields},
        {"agentId": "home", "llmProvider": "demo"},
    ]
    servers = {"git.hub": {"command": "true"}}
    return validate_file({"agents": agents, "mcpServers": servers})


def told(**fields: object) -> list[str]:
    """The warnings about its tools."""
    file = agents_file(**fields)
    return [str(one) for one in check_tool_names(file, find_host_tools(file).tools, ["planner"])]


@pytest.mark.parametrize("field", ["allowedTools", "deniedTools", "approvals"])
def test_unknown_tool_is_told_with_the_nearest(field: str) -> None:
    """A misspelt one would be offered, or never need an approval."""
    (message,) = told(**{field: ["send_mesage"]})
    assert message == (
        f"agents.json: warning: agent 'work': \"{field}\" names the unknown tool 'send_mesage';"
        ' did you mean "send_message"?'
    )


def test_known_tools_prompts_agents_servers_and_patterns_are_fine() -> None:
    """Tools of servers of extensions too, whether the agent has them or not."""
    names = ["get_time", "planner", "home", "git_hub_push", "wiki_*"]
    assert told(deniedTools=[*names, *list_servable_tools(agents_file())]) == []
