"""All built-in tools by name."""

from orchestrator.tools.builtin import (
    clock,
    send_message,
    tool_finder,
)
from orchestrator.tools.builtin.host_tool import HostTool

TOOLS: dict[str, HostTool] = {
    tool.spec.name: tool
    for tool in (
        clock.get_time,
        send_message.send_message,
        send_message.send_telegram,
        tool_finder.find_tools,
    )
}
