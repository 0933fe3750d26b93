"""The advice about a missing tool can be followed."""

import pytest
from fakes.agents_file import WORK, parsed

from orchestrator.control.tool_advice import advise_on_tool

KNOWN = {"send_telegram", "remember"}


@pytest.mark.parametrize(
    ("fields", "tool", "advice"),
    [
        (
            {},
            "send_telegram",
            "a task does without, as its answer goes to its notify chat by itself",
        ),
        ({}, "mail_send_message", "a task does without, as its answer goes to its notify chat"),
        ({"deniedTools": ["send_*"]}, "send_telegram", 'denied by "send_*" in deniedTools'),
        ({"allowedTools": ["a"]}, "files_read", "no pattern of allowedTools matches"),
        ({}, "remember", "it is built in, but what it needs is not set up"),
        ({}, "files_read", "add its MCP server, or change the playbook"),
    ],
)
def test_advice_depends_on_why_the_tool_is_missing(
    fields: dict[str, object], tool: str, advice: str
) -> None:
    """No server has a tool that is built in, or that a task withholds."""
    (agent,) = parsed({**WORK, **fields}).file.agents
    hint = advise_on_tool(agent, tool, KNOWN)
    assert advice in hint
    assert ("MCP server" in hint) == (not fields and tool == "files_read")
