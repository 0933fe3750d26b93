"""All built-in tools by name."""

from collections.abc import Mapping

from orchestrator.tools.builtin import (
    agent_tools,
    clock,
    send_message,
    spawn_subagent,
    tool_finder,
)
from orchestrator.tools.builtin.host_tool import HostTool

TOOLS: Mapping[str, HostTool] = {
    tool.spec.name: tool
    for tool in (
        clock.get_time,
        send_message.send_message,
        send_message.send_telegram,
        spawn_subagent.SPAWN_SUBAGENT,
        agent_tools.NOTIFY,
        tool_finder.find_tools,
    )
}
