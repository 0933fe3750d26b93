"""All built-in tools by name, and those that an agent is offered."""

from collections.abc import Mapping

from orchestrator.agentsfile import AgentDefinition
from orchestrator.tools.builtin import (
    agent_tools,
    clock,
    memory_tools,
    profile_tools,
    send_message,
    skill_tools,
    spawn_subagent,
    task_tools,
)
from orchestrator.tools.builtin.host_tool import HostTool
from orchestrator.tools.policy import offer
from thinker.formats.prompts.tooluse import NOTIFY_PARENT
from thinker.protocol.messages import SideEffect, ToolSpec

TOOLS: Mapping[str, HostTool] = {
    tool.spec.name: tool
    for tool in (
        clock.GET_TIME,
        memory_tools.STORE_FACT,
        memory_tools.SEARCH_MEMORIES,
        memory_tools.LIST_FACTS,
        memory_tools.UPDATE_FACT,
        memory_tools.DELETE_FACT,
        memory_tools.SEARCH_CONVERSATIONS,
        profile_tools.GET_PROFILE,
        profile_tools.UPDATE_PROFILE,
        skill_tools.READ_SKILL,
        skill_tools.LIST_SKILLS,
        skill_tools.STORE_SKILL,
        skill_tools.UPDATE_SKILL,
        skill_tools.DELETE_SKILL,
        task_tools.SCHEDULE_TASK,
        task_tools.LIST_TASKS,
        task_tools.CANCEL_TASK,
        send_message.SEND_MESSAGE,
        send_message.SEND_TELEGRAM,
        spawn_subagent.SPAWN_SUBAGENT,
        agent_tools.NOTIFY,
    )
}
CLASSES: dict[str, SideEffect] = {name: tool.spec.side_effect for name, tool in TOOLS.items()}


def offered(definition: AgentDefinition) -> tuple[ToolSpec, ...]:
    """Return the tools that an agent's globs permit. ``notify_parent`` is only for subagents."""
    every = (tool.spec for name, tool in TOOLS.items() if name != NOTIFY_PARENT)
    return offer(every, definition)
