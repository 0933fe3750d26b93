"""Make tools from the prompts and agents that prompt definitions list among their tools."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

from orchestrator.agentsfile import AgentDefinition, AgentsFile
from orchestrator.hands.hand_servers import hand_tools
from orchestrator.journal.turns.steps import Call
from orchestrator.tools.builtin.agent_tools import SubagentTool, create_tool, message_tool, subagent
from orchestrator.tools.builtin.catalog import TOOLS
from orchestrator.tools.builtin.handoff_tools import handoff
from orchestrator.tools.builtin.host_tool import DelegatingTool, HostTool
from orchestrator.tools.builtin.subprompt_tools import subprompt
from orchestrator.tools.mcp.mcp_tools import McpTool, owner
from thinker.formats.prompts.bundle import PromptBundle
from thinker.formats.prompts.definition import PromptDefinition
from thinker.formats.prompts.registry import AgentKind, Registry
from thinker.formats.prompts.substitution import fill_variables
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
from thinker.protocol.methods import StepCommit

T = TypeVar("T", bound=HostTool | McpTool)

SWITCHED_ON = ("true", "1", "yes")
MOST_MINUTES = 30.0  # of a subagent's work, as for spawn_subagent
HANDOFF = "Hand this chat over to the agent {name!r}, which answers it from then on."
SUBAGENT = "Give a task to the agent {name!r}."


@dataclass(frozen=True)
class KnownTools:
    """The built-in tools, and every name that an MCP server of agents.json could offer.

    ``hands`` are the tools of bundled servers.
    """

    servers: frozenset[str]
    hands: frozenset[str] = frozenset()

    def __contains__(self, name: object) -> bool:
        return name in TOOLS or name in self.hands or bool(owner(str(name), self.servers))


class EntrySettings(NamedTuple):
    """The variables and fixed options that a prompt's entry sets for the calls of a tool.

    ``values`` has every variable that the options may name.
    """

    options: JsonObject
    env: Env
    values: Env

    @classmethod
    def from_entry(
        cls, entry: ToolEntry, bundle: PromptBundle, known: Environments
    ) -> "EntrySettings":
        """Return the entry's settings with the values that its variables have in a chat."""
        env, root = entry.env or {}, bundle.root
        merged = known.model_copy(update={"tool": env, "prompt": root.env}).merged()
        declared = {*env, *root.env, *(variable.name for variable in root.variables)}
        values = {name: merged[name] for name in declared if name in merged}
        return cls(entry.options or {}, {name: merged[name] for name in env}, values)

    def arguments(self, arguments: JsonObject) -> JsonObject:
        """Return the arguments of a call, with variables filled into the fixed options only.

        Raises:
            DefinitionError: one of them is not set.
        """
        fixed = {
            name: fill_variables(value, self.values)
            for name, value in self.options.items()
            if arguments.get(name) == value
        }
        return {**arguments, **fixed}


def registry(
    definitions: Mapping[str, PromptDefinition], agents: AgentsFile, hooks: frozenset[str]
) -> Registry:
    return Registry(
        prompts={name: found.prompt for name, found in definitions.items()},
        models=frozenset(agents.models),
        tools=KnownTools(frozenset(agents.mcp_servers), hand_tools(agents)),
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
    """Yield the prompts and agents among a definition's tools, by name.

    ``environment`` switches optional ones on.
    """
    resumable: dict[str, SubagentTool] = {}
    for entry in definition.tools or ():
        use = names.resolve(entry)
        if isinstance(use, SubpromptUse):
            yield use.name, subprompt(known[use.name], use)
        agent = agents.agent(entry.name)
        if agent is None:
            continue
        prompt = known.get(agent.prompt or "")
        if isinstance(use, HandoffUse):
            yield use.name, handoff(use, *_interface(HANDOFF, agent, prompt))
        if isinstance(use, SubagentUse) and switched_on(use, environment):
            minutes = min(max(agent.limits.turn_minutes, 1), MOST_MINUTES)
            tool = SubagentTool(use, *_interface(SUBAGENT, agent, prompt), minutes)
            if tool.resumable is None:
                yield use.name, subagent(tool)
            else:
                resumable[use.name] = tool
    if resumable:
        yield SUBAGENT_CREATE, create_tool(resumable)
        yield SUBAGENT_MESSAGE, message_tool(resumable)


def switched_on(use: SubagentUse, environment: Mapping[str, str]) -> bool:
    """Return whether an entry is in use: if it is ``optional``, its variable must be true."""
    return use.optional is None or environment.get(use.optional, "").lower() in SWITCHED_ON


def _interface(
    purpose: str, agent: AgentDefinition, prompt: PromptDefinition | None
) -> tuple[str, JsonObject | None]:
    """Return the description and schema of an agent that is a tool."""
    about = purpose.format(name=agent.agent_id)
    if prompt is None:
        return about, None
    return f"{about} {prompt.tool_description}", prompt.required_schema


def fixed_options(found: PromptBundle | None, name: str) -> JsonObject:
    """Return the arguments that a definition's entry sets for every call of a tool."""
    entries = () if found is None else found.root.tools or ()
    return next((entry.options or {} for entry in entries if entry.name == name), {})


def with_fixed_options(
    found: PromptBundle | None, commit: StepCommit, handed_back: Collection[str] = ()
) -> StepCommit:
    """Return a step whose calls have these arguments, whatever an agent's process left out.

    Tools of an API client, which are ``handed_back``, have none.
    """
    if found is None:
        return commit
    calls = [
        call
        if call.rejected is not None or call.name in handed_back
        else call.model_copy(update={"arguments": call.arguments | fixed_options(found, call.name)})
        for call in commit.calls
    ]
    return commit.model_copy(update={"calls": tuple(calls)})


def configured(
    found: PromptBundle | None, known: Environments, call: Call, tool: T
) -> tuple[Call, T]:
    """Return a call and its tool with the options and variables of the definition's entry.

    Raises:
        DefinitionError: a variable is not set.
    """
    entries = () if found is None else found.root.tools or ()
    entry = next((entry for entry in entries if entry.name == call.name), None)
    if found is None or entry is None or not (entry.env or entry.options):
        return call, tool
    settings = EntrySettings.from_entry(entry, found, known)
    call = replace(call, arguments=settings.arguments(call.arguments))
    return call, replace(tool, env=settings.env) if isinstance(tool, McpTool) else tool
