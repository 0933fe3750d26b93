"""The prompt definitions in force: read from files, checked together, with the last good versions.

A definition that cannot be used is replaced by its last usable version, also after a restart.
Problems are reported with the place in the file and a correction.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TypeVar

import structlog
from pydantic import TypeAdapter, ValidationError

from orchestrator.agentsfile import AgentDefinition, AgentsFile, Problem
from orchestrator.files import write_private
from orchestrator.journal.turns.steps import Call
from orchestrator.prompts import prompt_checks
from orchestrator.prompts.prompt_tools import EntrySettings, prompt_tools, registry, switched_on
from orchestrator.routing import Place, match
from orchestrator.settings import Settings, bundled
from orchestrator.tools.builtin.host_tool import DelegatingTool, HostTool
from orchestrator.tools.mcp.mcp_tools import McpTool
from thinker.formats.prompts.bundle import PromptBundle, bundle
from thinker.formats.prompts.definition import PromptDefinition
from thinker.formats.prompts.definition_files import scan
from thinker.formats.prompts.registry import Registry
from thinker.formats.prompts.tooluse import INJECTED, SubagentUse
from thinker.protocol.environments import Env, Environments
from thinker.protocol.messages import JsonObject, SideEffect

T = TypeVar("T", bound=HostTool | McpTool)
_STORED: TypeAdapter[dict[str, PromptDefinition]] = TypeAdapter(dict[str, PromptDefinition])
log = structlog.get_logger()


class PromptLibrary:
    """Definitions by name, and what they set for each agent.

    ``definitions`` are those in force; ``problems`` what is wrong with the files and their use.
    """

    def __init__(self, settings: Settings) -> None:
        self._folders = (bundled("prompts"), settings.paths.prompts)
        self._store = settings.paths.prompts_last_good
        self._hooks = settings.paths.hooks
        self._bundles: Mapping[str, PromptBundle] = {}
        self._tools: Callable[[str, Env], Mapping[str, DelegatingTool]] = lambda _n, _e: {}
        self._instance: Env = {}
        self._names = Registry({})
        self.definitions = _stored(self._store)
        self.problems: tuple[Problem, ...] = ()

    def read(self, agents: AgentsFile) -> None:
        """Read all files again; keep the last good version of each definition that is unusable."""
        files, before = scan(self._folders), self.definitions
        fresh = {name: file.definition for name, file in files.items() if file.definition}
        offered = {**before, **fresh}
        hooks = prompt_checks.known_hooks(self._hooks, agents, offered.values())
        current, problems = prompt_checks.usable_versions(offered, before, agents, hooks)
        bundles = {name: bundle(current, name) for name in current}
        used = {agent.prompt for agent in agents.agents} & bundles.keys()
        needed = {part for name in used if name for part in bundles[name].definitions}
        self._bundles = {n: found for n, found in bundles.items() if n in files or n in needed}
        self.definitions = {name: current[name] for name in self._bundles}
        names = self._names = registry(current, agents, hooks)
        self._tools = lambda name, environment: dict(
            prompt_tools(current[name], current, names, agents, environment)
        )
        self._instance = agents.variables
        for name, definition in self.definitions.items():
            problems[name] = (
                *problems.get(name, ()),
                *prompt_checks.without_effect(definition, names),
            )
        findings = {name: (*file.problems, *problems.get(name, ())) for name, file in files.items()}
        self.problems = (
            *prompt_checks.file_problems(files, findings, self.definitions),
            *prompt_checks.agent_problems(agents, self.definitions, files),
            *prompt_checks.hook_problems(agents, self.definitions, hooks),
        )

    def tools(self, agent: AgentDefinition) -> Mapping[str, DelegatingTool]:
        """Return the prompts and agents among the tools of the agent's definition."""
        found = self._bundles.get(agent.prompt or "")
        return {} if found is None else self._tools(found.name, self._switches(agent, found))

    def immediate(self, agent: AgentDefinition) -> tuple[SubagentUse, ...]:
        """Return the subagents that start before the first step of the agent's turns."""
        found = self._bundles.get(agent.prompt or "")
        if found is None:
            return ()
        switches = self._switches(agent, found)
        uses = map(self._names.resolve, found.root.tools or ())
        found_uses = (use for use in uses if isinstance(use, SubagentUse) and use.immediate)
        return tuple(use for use in found_uses if switched_on(use, switches))

    def _switches(self, agent: AgentDefinition, found: PromptBundle) -> Env:
        """Return the variables that switch optional tools on; they are the same in every chat."""
        known = Environments(instance=self._instance, agent=agent.env, prompt=found.root.env)
        return known.merged()

    def hands_over(self, agent: AgentDefinition, name: str) -> bool:
        """Return whether a tool of the agent's definition hands the chat over to another agent."""
        tool = self.tools(agent).get(name)
        return tool is not None and tool.hands_over

    def classes(self) -> Mapping[str, SideEffect]:
        """Return the side-effect class of every prompt and agent that is a tool."""
        entries = (found.root.tools or () for found in self._bundles.values())
        named = (entry.name for entry in chain.from_iterable(entries))
        return dict.fromkeys((*named, *INJECTED), SideEffect.LOCAL_TX)

    def store_last_good(self) -> None:
        """Store the definitions in force, for a restart with broken files."""
        data = _STORED.dump_json(self.definitions, by_alias=True, exclude_none=True)
        try:
            if not self._store.exists() or self._store.read_bytes() != data:
                write_private(self._store, data)
        except OSError as error:
            log.warning("last_good_not_kept", problem=str(error))

    def bundle_json(self, agent: AgentDefinition) -> JsonObject | None:
        """Return the agent's definition as a `PromptBundle` in JSON; None if it has none."""
        found = self._bundles.get(agent.prompt or "")
        return None if found is None else found.as_json()

    def environments(
        self, agent: AgentDefinition, agents: AgentsFile, place: Place
    ) -> Environments:
        """Return the variables that agents.json sets for an agent in a chat, including secrets."""
        binding = match(agents.bindings, place)
        channel = getattr(agents.channels, place.channel, None)
        return Environments(
            thread={} if binding is None else binding.variables,
            account={} if channel is None else channel.variables,
            instance=agents.variables,
            agent=agent.env,
        )

    def values(self, agent: AgentDefinition, known: Environments) -> Env:
        """Return the variables of the agent's definition merged with ``known``, with secrets."""
        found = self._bundles.get(agent.prompt or "")
        prompt = {} if found is None else found.root.env
        return known.model_copy(update={"prompt": prompt}).merged()

    def text_environments(self, agent: AgentDefinition, known: Environments) -> Environments:
        """Return the variables that the definition's text uses, which the worker may receive."""
        found = self._bundles.get(agent.prompt or "")
        return Environments() if found is None else known.only(found.text_variables)

    def configured(
        self, agent: AgentDefinition, known: Environments, call: Call, tool: T
    ) -> tuple[Call, T]:
        """Return a call and its tool with the options and variables of the definition's entry.

        Raises:
            DefinitionError: a variable is not set.
        """
        found = self._bundles.get(agent.prompt or "")
        entries = () if found is None else found.root.tools or ()
        entry = next((entry for entry in entries if entry.name == call.name), None)
        if found is None or entry is None or not (entry.env or entry.options):
            return call, tool
        configured = EntrySettings.from_entry(entry, found, known)
        call = replace(call, arguments=configured.arguments(call.arguments))
        return call, replace(tool, env=configured.env) if isinstance(tool, McpTool) else tool

    def shared(
        self,
        parent: AgentDefinition,
        known: Environments,
        child: AgentDefinition,
        names: Sequence[str],
    ) -> Env:
        """Return the values of variables that a parent shares with its subagent.

        Secrets of the parent are left out where the subagent's text would show them.
        """
        upper, lower = (self._bundles.get(agent.prompt or "") for agent in (parent, child))
        secret = frozenset() if upper is None else upper.secret
        shown = frozenset() if lower is None else lower.text_variables
        values = self.values(parent, known)
        return {name: values[name] for name in {*names} - (secret & shown) if name in values}

    def with_model(self, agent: AgentDefinition, agents: AgentsFile) -> AgentDefinition:
        """Return the agent with the model that its definition names."""
        found = self.definitions.get(agent.prompt or "")
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


def _stored(path: Path) -> dict[str, PromptDefinition]:
    try:
        return _STORED.validate_json(path.read_bytes())
    except FileNotFoundError:
        pass
    except (OSError, ValidationError) as error:
        log.warning("last_good_prompts_not_read", problem=str(error))
    return {}
