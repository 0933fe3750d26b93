"""The current prompt definitions, and the settings that they make for each agent. Immutable."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.agentsfile import AgentDefinition, AgentsFile, Problem
from orchestrator.prompts.prompt_tools import is_switched_on
from orchestrator.routing import Place, match_binding
from orchestrator.tools.builtin.host_tool import DelegatingTool, HostTool
from orchestrator.tools.host_tools import list_own_tools
from thinker.formats.prompts.bundle import PromptBundle
from thinker.formats.prompts.definition import PromptDefinition
from thinker.formats.prompts.registry import Registry
from thinker.formats.prompts.tooluse import SubagentUse
from thinker.protocol.environments import Env, Environments
from thinker.protocol.providers import list_key_variables


@dataclass(frozen=True)
class PromptSet:
    """Definitions that were read and checked together, with the problems of their files.

    ``templates`` are the user's own default prompt and templates of summaries and facts, by name.
    ``host_tools`` are those that the supervisor runs, as they were then. A transaction may use it.
    """

    definitions: dict[str, PromptDefinition] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    bundles: Mapping[str, PromptBundle] = field(default_factory=dict)
    tools: Callable[[str, Env], Mapping[str, DelegatingTool]] = lambda _n, _e: {}
    instance: Env = field(default_factory=dict)
    names: Registry = field(default_factory=lambda: Registry({}))
    templates: Mapping[str, Path] = field(default_factory=dict)
    host_tools: Mapping[str, HostTool] = field(default_factory=list_own_tools)

    def find_bundle(self, agent: AgentDefinition) -> PromptBundle | None:
        """Return the agent's definition with everything it needs; None if it has none."""
        return self.bundles.get(agent.prompt) if agent.prompt else None

    def list_immediate_subagents(self, agent: AgentDefinition) -> tuple[SubagentUse, ...]:
        """Return the subagents that start before the first step of the agent's turns."""
        found = self.find_bundle(agent)
        if found is None:
            return ()
        switches = self._merge_switches(agent, found)
        uses = map(self.names.resolve_tool_entry, found.root.tools or ())
        found_uses = (use for use in uses if isinstance(use, SubagentUse) and use.immediate)
        return tuple(use for use in found_uses if is_switched_on(use, switches))

    def list_prompt_tools(self, agent: AgentDefinition) -> Mapping[str, DelegatingTool]:
        """Return the prompts and agents among the tools of the agent's definition."""
        found = self.find_bundle(agent)
        return {} if found is None else self.tools(found.name, self._merge_switches(agent, found))

    def is_handoff_tool(self, agent: AgentDefinition, name: str) -> bool:
        """Return whether a tool of the agent's definition hands the chat over."""
        tool = self.list_prompt_tools(agent).get(name)
        return tool is not None and tool.hands_over

    def _merge_switches(self, agent: AgentDefinition, found: PromptBundle) -> Env:
        """Return the variables that enable optional tools; they are the same in every chat."""
        known = Environments(instance=self.instance, agent=agent.env, prompt=found.root.env)
        return known.merge_levels()

    def merge_variables(self, agent: AgentDefinition, known: Environments) -> Env:
        """Return the variables of the agent's definition merged with ``known``, with secrets."""
        found = self.find_bundle(agent)
        prompt = {} if found is None else found.root.env
        return known.model_copy(update={"prompt": prompt}).merge_levels()

    def list_shared_variables(
        self,
        parent: AgentDefinition,
        known: Environments,
        child: AgentDefinition,
        names: Sequence[str],
    ) -> Env:
        """Return the values of variables that a parent shares with its subagent.

        The parent's secrets are left out where the subagent's text would show them.
        """
        upper, lower = (self.find_bundle(agent) for agent in (parent, child))
        secret = frozenset() if upper is None else upper.secret_names
        shown = frozenset() if lower is None else lower.text_variables
        values = self.merge_variables(parent, known)
        return {name: values[name] for name in {*names} - (secret & shown) if name in values}

    def apply_prompt_model(self, agent: AgentDefinition, agents: AgentsFile) -> AgentDefinition:
        """Return the agent with the model that its definition names."""
        found = self.definitions.get(agent.prompt) if agent.prompt else None
        reference = None if found is None else agents.models.get(found.model)
        if reference is None:
            return agent
        return agent.model_copy(
            update={
                "temperature": agent.temperature,
                "base_url": reference.base_url,
                "llm_provider": reference.provider,
                **reference.model_dump(include={"model", "temperature"}, exclude_none=True),
            }
        )


def build_environments(agent: AgentDefinition, agents: AgentsFile, place: Place) -> Environments:
    """Return the variables that agents.json sets for an agent in a chat, including secrets."""
    binding = match_binding(agents.list_bindings(place.channel, place.chat_id), place)
    channel = agents.channels.list_sections().get(place.channel)
    return Environments(
        thread={} if binding is None else binding.variables,
        account={} if channel is None else channel.variables,
        instance=agents.variables,
        agent=agent.env,
    )


def select_text_variables(found: PromptBundle, known: Environments) -> Environments:
    """Return the variables that a definition's text uses, which the worker may receive.

    Keys of providers are left out: workers have none.
    """
    return known.select_names(found.text_variables - list_key_variables())
