"""All built-in tools by name."""

from collections.abc import Mapping

from orchestrator.tools.builtin import (
    agent_tools,
    attachment_tools,
    clock,
    send_message,
    skill_tools,
    spawn_subagent,
    task_tools,
    tool_finder,
)
from orchestrator.tools.builtin.host_tool import HostTool

TOOLS: Mapping[str, HostTool] = {
    tool.spec.name: tool
    for tool in (
        clock.get_time,
        skill_tools.read_skill,
        skill_tools.list_skills,
        skill_tools.store_skill,
        skill_tools.update_skill,
        skill_tools.delete_skill,
        task_tools.schedule_task,
        task_tools.list_tasks,
        task_tools.cancel_task,
        send_message.send_message,
        send_message.send_telegram,
        attachment_tools.list_files,
        attachment_tools.read_attachment,
        attachment_tools.send_file,
        spawn_subagent.SPAWN_SUBAGENT,
        agent_tools.NOTIFY,
        tool_finder.find_tools,
    )
}
SEND_FILE = attachment_tools.send_file.spec.name
