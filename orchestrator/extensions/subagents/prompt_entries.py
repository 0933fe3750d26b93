"""Make tools from the prompts and agents that a prompt definition lists among its tools."""

from collections.abc import Iterator, Mapping

from orchestrator.agentsfile import AgentDefinition, AgentsFile
from orchestrator.extensions.subagents.agent_tools import (
    SubagentTool,
    build_create_tool,
    build_message_tool,
    build_subagent_tool,
)
from orchestrator.extensions.subagents.handoff_tools import build_handoff_tool
from orchestrator.extensions.subagents.subprompt_tools import build_subprompt_tool
from orchestrator.prompts.prompt_tools import is_switched_on
from orchestrator.tools.builtin.host_tool import DelegatingTool
from thinker.formats.prompts.definition import PromptDefinition
from thinker.formats.prompts.registry import Registry
from thinker.formats.prompts.tooluse import (
    SUBAGENT_CREATE,
    SUBAGENT_MESSAGE,
    HandoffUse,
    SubagentUse,
    SubpromptUse,
)
from thinker.protocol.messages import JsonObject

MAX_MINUTES = 30.0  # of a subagent's work, as for spawn_subagent
HANDOFF = "Hand this chat over to the agent {name!r}, which answers it from then on."
SUBAGENT = "Give a task to the agent {name!r}."


def build_prompt_tools(
    definition: PromptDefinition,
    known: Mapping[str, PromptDefinition],
    names: Registry,
    agents: AgentsFile,
    environment: Mapping[str, str],
) -> Iterator[tuple[str, DelegatingTool]]:
    """Yield the prompts and agents among a definition's tools, by name.

    ``environment`` enables optional ones.
    """
    resumable: dict[str, SubagentTool] = {}
    for entry in definition.tools or ():
        use = names.resolve_tool_entry(entry)
        if isinstance(use, SubpromptUse):
            yield use.name, build_subprompt_tool(known[use.name], use)
        agent = agents.find_agent(entry.name)
        if agent is None:
            continue
        prompt = known.get(agent.prompt or "")
        if isinstance(use, HandoffUse):
            yield use.name, build_handoff_tool(use, *_describe_interface(HANDOFF, agent, prompt))
        if isinstance(use, SubagentUse) and is_switched_on(use, environment):
            minutes = min(agent.turn_minutes, MAX_MINUTES)
            tool = SubagentTool(use, *_describe_interface(SUBAGENT, agent, prompt), minutes)
            if tool.resumable is None:
                yield use.name, build_subagent_tool(tool)
            else:
                resumable[use.name] = tool
    if resumable:
        yield SUBAGENT_CREATE, build_create_tool(resumable)
        yield SUBAGENT_MESSAGE, build_message_tool(resumable)


def _describe_interface(
    purpose: str, agent: AgentDefinition, prompt: PromptDefinition | None
) -> tuple[str, JsonObject | None]:
    """Return the description and schema of an agent used as a tool."""
    about = purpose.format(name=agent.agent_id)
    if prompt is None:
        return about, None
    return f"{about} {prompt.tool_description}", prompt.required_schema
