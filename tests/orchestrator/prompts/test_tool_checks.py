"""Names of tools in agents.json that nothing offers."""

import pytest

from orchestrator.agentsfile import AgentsFile
from orchestrator.prompts.tool_checks import unknown_tools, unused_models


def agents_file(**fields: object) -> AgentsFile:
    """An agent with these fields, beside another and an MCP server."""
    agents = [
        {"agentId": "work", "llmProvider": "demo", **fields},
        {"agentId": "home", "llmProvider": "demo"},
    ]
    servers = {"git.hub": {"command": "true"}}
    return AgentsFile.model_validate({"agents": agents, "mcpServers": servers})


def told(**fields: object) -> list[str]:
    """The warnings about its tools."""
    return [str(problem) for problem in unknown_tools(agents_file(**fields), ["planner"])]


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


@pytest.mark.parametrize(
    ("lists", "field"),
    [
        ({"deniedTools": ["draw_picture"]}, "deniedTools"),
        ({"deniedTools": ["draw_*"], "allowedTools": ["get_time"]}, "deniedTools"),
        ({"allowedTools": ["get_time"]}, "allowedTools"),
        ({"allowedTools": ["draw_*"]}, ""),
        ({}, ""),
    ],
)
def test_model_that_draws_without_its_tool_is_told(lists: dict[str, object], field: str) -> None:
    """It would never be asked."""
    images = {"model": "brush", "baseUrl": "http://127.0.0.1:1/v1"}
    said = [str(problem) for problem in unused_models(agents_file(images=images, **lists))]
    assert [f'its "{field}" keeps draw_picture from it' in text for text in said] == [True] * bool(
        field
    )
    assert not [*unused_models(agents_file(**lists))]
