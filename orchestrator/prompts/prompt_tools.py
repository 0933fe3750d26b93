"""Prompts and agents among the tools of prompt definitions, as tools."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from orchestrator.agentsfile import AgentDefinition, AgentsFile
from orchestrator.tools.builtin.agent_tools import SubagentTool, create_tool, message_tool, subagent
from orchestrator.tools.builtin.catalog import TOOLS
from orchestrator.tools.builtin.handoff_tools import handoff
from orchestrator.tools.builtin.host_tool import DelegatingTool
from orchestrator.tools.builtin.subprompt_tools import subprompt
from orchestrator.tools.mcp.mcp_tools import owner
from thinker.formats.prompts.bundle import PromptBundle
from thinker.formats.prompts.definition import PromptDefinition
from thinker.formats.prompts.registry import AgentKind, Registry
from thinker.formats.prompts.substitution import filled
from thinker.formats.prompts.tooluse import (
    SUBAGENT_CREATE,
    SUBAGENT_MESSAGE,
    HandoffUse,
    SubagentUse,
    SubpromptUse,
    ToolEntry,
)
from thinker.protocol.environments import Env, Environments
from thinker.protocol.messages import JsonObject

SWITCHED_ON = ("true", "1", "yes")
MOST_MINUTES = 30.0  # of a subagent's work, as for spawn_subagent
HAND_OVER = "Hand this chat over to the agent {name!r}, which answers it from then on."


@dataclass(frozen=True)
class KnownTools:
    """The built-in tools, and whatever the MCP servers of agents.json may turn out to offer."""

    servers: frozenset[str]

    def __contains__(self, name: object) -> bool:
        return name in TOOLS or bool(owner(str(name), self.servers))


@dataclass(frozen=True)
class Configured:
    """What a prompt's entry sets for the calls of a tool: its variables and fixed options.

    ``values`` are those of every variable that the options may have a place for.
    """

    options: JsonObject
    env: Env
    values: Env

    @classmethod
    def of(cls, entry: ToolEntry, bundle: PromptBundle, known: Environments) -> "Configured":
        """With the values that win where the agent is asked."""
        own, root = entry.env or {}, bundle.root
        merged = known.model_copy(update={"tool": own, "prompt": root.env}).merged()
        declared = {*own, *root.env, *(variable.name for variable in root.variables)}
        values = {name: merged[name] for name in declared if name in merged}
        return cls(entry.options or {}, {name: merged[name] for name in own}, values)

    def arguments(self, given: JsonObject) -> JsonObject:
        """The arguments of a call with the variables of its fixed options filled in, no others.

        Raises:
            DefinitionError: one of them is not set.
        """
        fixed = {
            name: filled(value, self.values)
            for name, value in self.options.items()
            if given.get(name) == value
        }
        return {**given, **fixed}


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
    environment: Mapping[str, str],
) -> Iterator[tuple[str, DelegatingTool]]:
    """The prompts and agents that a definition has among its tools, by name.

    ``environment`` switches optional ones on.
    """
    living: dict[str, SubagentTool] = {}
    for entry in definition.tools or ():
        use = names.resolve(entry)
        if isinstance(use, SubpromptUse):
            yield use.name, subprompt(known[use.name], use)
        agent = agents.agent(entry.name)
        if isinstance(use, HandoffUse) and agent is not None:
            yield use.name, _handoff(agent, use, known.get(agent.prompt or ""))
        if isinstance(use, SubagentUse) and agent is not None and switched_on(use, environment):
            helper = _helper(agent, use, known.get(agent.prompt or ""))
            if helper.resumable is None:
                yield use.name, subagent(helper)
            else:
                living[use.name] = helper
    if living:
        yield SUBAGENT_CREATE, create_tool(living)
        yield SUBAGENT_MESSAGE, message_tool(living)


def switched_on(use: SubagentUse, environment: Mapping[str, str]) -> bool:
    """Whether an entry that is ``optional`` is switched on by the variable that it names."""
    return use.optional is None or environment.get(use.optional, "").lower() in SWITCHED_ON


def _helper(
    agent: AgentDefinition, use: SubagentUse, prompt: PromptDefinition | None
) -> SubagentTool:
    told = f"Have the agent {agent.agent_id!r} do a piece of work for you."
    minutes = min(max(agent.limits.turn_minutes, 1), MOST_MINUTES)
    if prompt is None:
        return SubagentTool(use, told, None, minutes)
    return SubagentTool(use, f"{told} {prompt.tool_description}", prompt.required_schema, minutes)


def _handoff(
    agent: AgentDefinition, use: HandoffUse, prompt: PromptDefinition | None
) -> DelegatingTool:
    told = HAND_OVER.format(name=agent.agent_id)
    if prompt is None:
        return handoff(use, told, None)
    return handoff(use, f"{told} {prompt.tool_description}", prompt.required_schema)
