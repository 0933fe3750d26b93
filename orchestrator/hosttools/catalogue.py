"""All host tools by name, and which of them an agent is offered."""

from collections.abc import Mapping

from orchestrator.definitions import AgentDefinition
from orchestrator.hosttools import (
    agents,
    clock,
    memory,
    messages,
    profile,
    skills,
    subagents,
    tasks,
)
from orchestrator.hosttools.base import HostTool
from orchestrator.policy import offer
from thinker.protocol.messages import SideEffect, ToolSpec
from thinker.protocol.prompts.tooluse import NOTIFY_PARENT

TOOLS: Mapping[str, HostTool] = {
    tool.spec.name: tool
    for tool in (
        clock.GET_TIME,
        memory.STORE_FACT,
        memory.SEARCH_MEMORIES,
        memory.LIST_FACTS,
        memory.UPDATE_FACT,
        memory.DELETE_FACT,
        memory.SEARCH_CONVERSATIONS,
        profile.GET_PROFILE,
        profile.UPDATE_PROFILE,
        skills.READ_SKILL,
        skills.LIST_SKILLS,
        skills.STORE_SKILL,
        skills.UPDATE_SKILL,
        skills.DELETE_SKILL,
        tasks.SCHEDULE_TASK,
        tasks.LIST_TASKS,
        tasks.CANCEL_TASK,
        messages.SEND_MESSAGE,
        messages.SEND_TELEGRAM,
        subagents.SPAWN_SUBAGENT,
        agents.NOTIFY,
    )
}
CLASSES: dict[str, SideEffect] = {name: tool.spec.side_effect for name, tool in TOOLS.items()}


def offered(definition: AgentDefinition) -> tuple[ToolSpec, ...]:
    """The tools that an agent's allow and deny globs leave it; some subagents get one more."""
    every = (tool.spec for name, tool in TOOLS.items() if name != NOTIFY_PARENT)
    return offer(every, definition)
