"""Make tools from the prompts and agents that prompt definitions list among their tools."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

from orchestrator.agentsfile import AgentsFile
from orchestrator.journal.turns.steps import Call
from orchestrator.tools.builtin.host_tool import HostTool
from orchestrator.tools.host_tools import find_host_tools
from orchestrator.tools.remote_tools import RemoteTool, find_owner
from orchestrator.tools.tool_server import list_served_tools
from thinker.formats.prompts.bundle import PromptBundle
from thinker.formats.prompts.definition import PromptDefinition
from thinker.formats.prompts.registry import AgentKind, Registry
from thinker.formats.prompts.substitution import fill_variables
from thinker.formats.prompts.tooluse import (
    SubagentUse,
    ToolEntry,
)
from thinker.protocol.environments import Env, Environments
from thinker.protocol.messages import JsonObject
from thinker.protocol.methods import StepCommit

T = TypeVar("T", bound=HostTool | RemoteTool)

SWITCHED_ON = ("true", "1", "yes")


@dataclass(frozen=True)
class KnownTools:
    """Tools by ``names``, and every name that one of these MCP servers could offer."""

    names: frozenset[str]
    servers: frozenset[str]

    @classmethod
    def from_file(cls, agents: AgentsFile) -> "KnownTools":
        """Return the tools of the supervisor and of all servers of an agents.json."""
        names = list_served_tools(agents).union(find_host_tools(agents).tools)
        return cls(names, frozenset(agents.mcp_servers))

    def __contains__(self, name: object) -> bool:
        return name in self.names or bool(find_owner(str(name), self.servers))


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
        merged = known.model_copy(update={"tool": env, "prompt": root.env}).merge_levels()
        declared = {*env, *root.env, *(variable.name for variable in root.variables)}
        values = {name: merged[name] for name in declared if name in merged}
        return cls(entry.options or {}, {name: merged[name] for name in env}, values)

    def fill_arguments(self, arguments: JsonObject) -> JsonObject:
        """Return the arguments of a call, with variables filled into the fixed options only.

        Raises:
            DefinitionError: a variable is not set.
        """
        fixed = {
            name: fill_variables(value, self.values)
            for name, value in self.options.items()
            if arguments.get(name) == value
        }
        return {**arguments, **fixed}


def build_registry(
    definitions: Mapping[str, PromptDefinition], agents: AgentsFile, hooks: frozenset[str]
) -> Registry:
    return Registry(
        prompts={name: found.prompt for name, found in definitions.items()},
        models=frozenset(agents.models),
        tools=KnownTools.from_file(agents),
        agents={
            agent.agent_id: AgentKind(dual=agent.as_tool == "subagent") for agent in agents.agents
        },
        hooks=hooks,
    )


def is_switched_on(use: SubagentUse, environment: Mapping[str, str]) -> bool:
    """Return whether an entry is in use; an ``optional`` one needs its variable to be true."""
    return use.optional is None or environment.get(use.optional, "").lower() in SWITCHED_ON


def find_fixed_options(found: PromptBundle | None, name: str) -> JsonObject:
    """Return the arguments that a definition's entry fixes for every call of a tool."""
    entries = () if found is None else found.root.tools or ()
    return next((entry.options or {} for entry in entries if entry.name == name), {})


def apply_fixed_options(
    found: PromptBundle | None, commit: StepCommit, handed_back: Collection[str] = ()
) -> StepCommit:
    """Return a step whose calls have these arguments, whatever the agent's process sent.

    Tools of an API client, which are ``handed_back``, have none.
    """
    if found is None:
        return commit
    calls = [
        call
        if call.rejected is not None or call.name in handed_back
        else call.model_copy(
            update={"arguments": call.arguments | find_fixed_options(found, call.name)}
        )
        for call in commit.calls
    ]
    return commit.model_copy(update={"calls": tuple(calls)})


def configure_call(
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
    call = replace(call, arguments=settings.fill_arguments(call.arguments))
    return call, replace(tool, env=settings.env) if isinstance(tool, RemoteTool) else tool
