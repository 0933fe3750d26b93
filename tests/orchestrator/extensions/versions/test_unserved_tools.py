"""Names of tools that a connected server does not have."""

import pytest
from fakes.agents_file import validate_file

from orchestrator.extensions.versions.unserved_tools import check_served_names

SERVED = {"wiki_add": "wiki", "wiki_search": "wiki"}


def _told(served: dict[str, str], **fields: object) -> list[str]:
    """The warnings about an agent beside two servers."""
    agents = [{"agentId": "work", "llmProvider": "demo", **fields}]
    servers = {"wiki": {"command": "true"}, "later": {"command": "true"}}
    file = validate_file({"agents": agents, "mcpServers": servers})
    return [one.message for one in check_served_names(file, served)]


@pytest.mark.parametrize("field", ["allowedTools", "deniedTools", "approvals"])
def test_name_that_the_server_gave_no_tool_is_told_with_the_nearest(field: str) -> None:
    """The setting would do nothing, though the server is there."""
    (message,) = _told(SERVED, **{field: ["wiki__add"]})
    assert message == (
        f"agent 'work': \"{field}\" names 'wiki__add', but no tool of the server 'wiki' is called"
        ' that; did you mean "wiki_add"?'
    )


def test_names_that_may_come_are_not_told() -> None:
    """Patterns, tools of a server that is not connected yet, and those of no server."""
    names = ["wiki_add", "wiki_*", "later_add", "send_message"]
    assert _told(SERVED, approvals=names) == []
    assert _told({}, approvals=["wiki__add"]) == []
