"""Prompts and agents among the tools of prompt definitions, as tools."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from orchestrator.definitions import AgentDefinition, AgentsFile
from orchestrator.hosttools.base import DelegatingTool
from orchestrator.hosttools.catalogue import TOOLS
from orchestrator.hosttools.handoffs import handoff
from orchestrator.hosttools.subprompts import subprompt
from orchestrator.mcptools import owner
from thinker.protocol.prompts.definition import PromptDefinition
from thinker.protocol.prompts.registry import AgentKind, Registry
from thinker.protocol.prompts.tooluse import HandoffUse, SubpromptUse

HAND_OVER = "Hand this chat over to the agent {name!r}, which answers it from then on."


@dataclass(frozen=True)
class KnownTools:
    """The built-in tools, and whatever the MCP servers of agents.json may turn out to offer."""

    servers: frozenset[str]

    def __contains__(self, name: object) -> bool:
        return name in TOOLS or bool(owner(str(name), self.servers))


def registry(
    definitions: Mapping[str, PromptDefinition], agents: AgentsFile, hooks: frozenset[str]
) -> Registry:
    """Everything that a definition may name."""
    return Registry(
        prompts={name: found.prompt for name, found in definitions.items()},
        models=frozenset(agents.models),
        tools=KnownTools(frozenset(agents.mcp_servers)),
        agents={
            agent.agent_id: AgentKind(dual=agent.as_tool == "subagent") for agent in agents.agents
        },
        hooks=hooks,
    )


def prompt_tools(
    definition: PromptDefinition,
    known: Mapping[str, PromptDefinition],
    names: Registry,
    agents: AgentsFile,
) -> Iterator[tuple[str, DelegatingTool]]:
    """The prompts and agents that a definition has among its tools, by name."""
    for entry in definition.tools or ():
        use = names.resolve(entry)
        if isinstance(use, SubpromptUse):
            yield use.name, subprompt(known[use.name], use)
        agent = agents.agent(entry.name)
        if isinstance(use, HandoffUse) and agent is not None:
            yield use.name, _handoff(agent, use, known.get(agent.prompt or ""))


def _handoff(
    agent: AgentDefinition, use: HandoffUse, prompt: PromptDefinition | None
) -> DelegatingTool:
    told = HAND_OVER.format(name=agent.agent_id)
    if prompt is None:
        return handoff(use, told, None)
    return handoff(use, f"{told} {prompt.tool_description}", prompt.required_schema)
