"""Names of tools in agents.json that nothing offers."""

import pytest

from orchestrator.agentsfile import AgentsFile
from orchestrator.prompts.tool_checks import unknown_tools


def told(**fields: object) -> list[str]:
    """The warnings about an agent with these fields, beside another and an MCP server."""
    agents = [
        {"agentId": "work", "llmProvider": "demo", **fields},
        {"agentId": "home", "llmProvider": "demo"},
    ]
    servers = {"git.hub": {"command": "true"}}
    file = AgentsFile.model_validate({"agents": agents, "mcpServers": servers})
    return [str(problem) for problem in unknown_tools(file, ["planner"])]


@pytest.mark.parametrize("field", ["allowedTools", "deniedTools", "approvals"])
def test_unknown_tool_is_told_with_the_nearest(field: str) -> None:
    """A misspelt one would be offered, or never need an approval."""
    (message,) = told(**{field: ["send_mesage"]})
    assert message == (
        f"agents.json: warning: agent 'work': \"{field}\" names the unknown tool 'send_mesage';"
        ' did you mean "send_message"?'
    )


def test_known_tools_prompts_agents_servers_and_patterns_are_fine() -> None:
    """Tools for files and pages too, whether the agent has them or not."""
    names = ["get_time", "run_command", "fetch", "planner", "home", "git_hub_push", "wiki_*"]
    assert told(deniedTools=names) == []
