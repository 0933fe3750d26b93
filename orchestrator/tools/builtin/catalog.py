"""All built-in tools by name, and those that an agent is offered."""

from collections.abc import Mapping

from orchestrator.agentsfile import AgentDefinition
from orchestrator.tools.builtin import (
    agent_tools,
    attachment_tools,
    clock,
    memory_tools,
    picture_tools,
    profile_tools,
    send_message,
    skill_tools,
    spawn_subagent,
    task_tools,
    tool_finder,
)
from orchestrator.tools.builtin.host_tool import HostTool
from orchestrator.tools.policy import offer
from thinker.formats.prompts.tooluse import NOTIFY_PARENT
from thinker.protocol.messages import SideEffect, ToolSpec

TOOLS: Mapping[str, HostTool] = {
    tool.spec.name: tool
    for tool in (
        clock.get_time,
        memory_tools.store_fact,
        memory_tools.search_memories,
        memory_tools.list_facts,
        memory_tools.update_fact,
        memory_tools.delete_fact,
        memory_tools.search_conversations,
        profile_tools.get_profile,
        profile_tools.update_profile,
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
        picture_tools.draw_picture,
        spawn_subagent.SPAWN_SUBAGENT,
        agent_tools.NOTIFY,
        tool_finder.find_tools,
    )
}
DRAW, SEND = picture_tools.draw_picture.spec.name, attachment_tools.send_file.spec.name
CLASSES: dict[str, SideEffect] = {name: tool.spec.side_effect for name, tool in TOOLS.items()}


def offered(definition: AgentDefinition) -> tuple[ToolSpec, ...]:
    """Return the tools that an agent's globs permit.

    ``notify_parent`` is only for subagents, ``draw_picture`` only for agents that draw; what they
    have drawn they can always send.
    """
    draws, every = definition.images is not None, []
    for name, tool in TOOLS.items():
        if name == NOTIFY_PARENT or (name == DRAW and not draws):
            continue
        shown = draws and name == SEND
        every.append(tool.spec.model_copy(update={"keywords": ()}) if shown else tool.spec)
    return offer(every, definition)
