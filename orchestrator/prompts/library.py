"""The prompt definitions in force: read from files, checked together, with the last good versions.

A definition that cannot be used is replaced by its last usable version, also after a restart.
Problems are reported with the place in the file and a correction.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import structlog
from pydantic import TypeAdapter, ValidationError

from orchestrator.agentsfile import AgentDefinition, AgentsFile, Problem
from orchestrator.files import write_private
from orchestrator.home_paths import bundled
from orchestrator.loop_owned import LoopOwned
from orchestrator.processes.launch import TEMPLATES
from orchestrator.prompts import prompt_checks
from orchestrator.prompts.prompt_tools import prompt_tools, registry, switched_on
from orchestrator.prompts.tool_checks import unknown_tools, unused_models
from orchestrator.prompts.unread_files import unread_in, unread_personas, unread_prompts
from orchestrator.routing import Place, match
from orchestrator.settings import Settings
from orchestrator.tools.builtin.host_tool import DelegatingTool
from thinker.formats import regular_file
from thinker.formats.prompts.bundle import PromptBundle, bundle
from thinker.formats.prompts.definition import PromptDefinition
from thinker.formats.prompts.definition_files import scan
from thinker.formats.prompts.registry import Registry
from thinker.formats.prompts.tooluse import SubagentUse
from thinker.formats.regular_file import FileError, FileMissingError
from thinker.protocol.environments import Env, Environments
from thinker.protocol.messages import LATE, JsonObject
from thinker.protocol.providers import key_variables

_STORED: TypeAdapter[dict[str, PromptDefinition]] = TypeAdapter(
    dict[str, PromptDefinition], config=LATE
)
log = structlog.get_logger()


@dataclass(frozen=True)
class PromptSet:
    """Definitions that were read and checked together, and what is wrong with their files."""

    definitions: dict[str, PromptDefinition] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    bundles: Mapping[str, PromptBundle] = field(default_factory=dict)
    tools: Callable[[str, Env], Mapping[str, DelegatingTool]] = lambda _n, _e: {}
    instance: Env = field(default_factory=dict)
    names: Registry = field(default_factory=lambda: Registry({}))
    templates: Mapping[str, Path] = field(default_factory=dict)

    def bundle_of(self, agent: AgentDefinition) -> PromptBundle | None:
        """Return the agent's definition with all that it needs; None if it has none."""
        return self.bundles.get(agent.prompt or "")

    def immediate(self, agent: AgentDefinition) -> tuple[SubagentUse, ...]:
        """Return the subagents that start before the first step of the agent's turns."""
        found = self.bundle_of(agent)
        if found is None:
            return ()
        switches = self.switches(agent, found)
        uses = map(self.names.resolve, found.root.tools or ())
        found_uses = (use for use in uses if isinstance(use, SubagentUse) and use.immediate)
        return tuple(use for use in found_uses if switched_on(use, switches))

    def switches(self, agent: AgentDefinition, found: PromptBundle) -> Env:
        """Return the variables that switch optional tools on; they are the same in every chat."""
        known = Environments(instance=self.instance, agent=agent.env, prompt=found.root.env)
        return known.merged()


class PromptLibrary(LoopOwned):
    """Definitions by name, and what they set for each agent."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._folders = (bundled("prompts"), settings.paths.prompts)
        self._store = settings.paths.prompts_last_good
        self._hooks = settings.paths.hooks
        self._in_force: PromptSet | None = None

    @property
    def now(self) -> PromptSet:
        """What is in force; a transaction may use it."""
        return self._in_force or PromptSet()

    @property
    def definitions(self) -> dict[str, PromptDefinition]:
        """The definitions in force."""
        return self.now.definitions

    @property
    def templates(self) -> Mapping[str, Path]:
        """The user's own default prompt and templates of summaries and facts, by name."""
        return self.now.templates

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with the files and their use."""
        return self.now.problems

    def read(self, agents: AgentsFile) -> None:
        """Read all files again and use them."""
        self.adopt(self.examine(agents))

    def adopt(self, found: PromptSet) -> None:
        self._in_force = found

    def not_read(self, reason: str) -> None:
        """Keep what is in force, and report why the files were not read."""
        problem = Problem.unusable(self._folders[-1], reason)
        self.adopt(replace(self.now, problems=(problem,)))

    def examine(self, agents: AgentsFile) -> PromptSet:
        """Read all files, with the last good version of each definition that is unusable."""
        files, unusable = scan(self._folders)
        before = _stored(self._store) if self._in_force is None else self._in_force.definitions
        fresh = {name: file.definition for name, file in files.items() if file.definition}
        offered = {**before, **fresh}
        hooks = frozenset[str]()
        try:
            hooks = prompt_checks.known_hooks(self._hooks, agents, offered.values())
        except FileError as error:
            unusable[self._hooks] = error
        current, problems = prompt_checks.usable_versions(offered, before, agents, hooks)
        bundles = {name: bundle(current, name) for name in current}
        used = {agent.prompt for agent in agents.agents} & bundles.keys()
        needed = {part for name in used if name for part in bundles[name].definitions}
        bundles = {n: found for n, found in bundles.items() if n in files or n in needed}
        definitions = {name: current[name] for name in bundles}
        names = registry(current, agents, hooks)
        for name, definition in definitions.items():
            problems[name] = (
                *problems.get(name, ()),
                *prompt_checks.without_effect(definition, names),
                *prompt_checks.unknown_options(definition, names),
            )
        findings = {
            name: (*file.problems, *problems.get(name, ()))
            for name, file in files.items()
            if file.path.parent != self._folders[0]  # bundled ones name tools that few agents have
        }
        return PromptSet(
            definitions,
            (
                *(Problem.unusable(path, str(error)) for path, error in unusable.items()),
                *prompt_checks.file_problems(files, findings, definitions),
                *prompt_checks.agent_problems(agents, definitions, files),
                *prompt_checks.hook_problems(agents, definitions, hooks),
                *prompt_checks.base_prompt_problems(self._settings),
                *prompt_checks.hook_syntax(self._hooks, agents),
                *unread_in(self._settings.home),
                *unread_prompts(self._folders[-1]),
                *unread_personas(self._settings.personas, agents),
                *unknown_tools(agents, definitions),
                *unused_models(agents),
            ),
            bundles,
            lambda name, environment: dict(
                prompt_tools(current[name], current, names, agents, environment)
            ),
            agents.variables,
            names,
            {name: path for name in TEMPLATES if os.path.lexists(path := self._folders[-1] / name)},
        )

    def tools(self, agent: AgentDefinition) -> Mapping[str, DelegatingTool]:
        """Return the prompts and agents among the tools of the agent's definition."""
        found = self.bundle_of(agent)
        return {} if found is None else self.now.tools(found.name, self.now.switches(agent, found))

    def hands_over(self, agent: AgentDefinition, name: str) -> bool:
        """Return whether a tool of the agent's definition hands the chat over to another agent."""
        tool = self.tools(agent).get(name)
        return tool is not None and tool.hands_over

    def store_last_good(self) -> None:
        """Store the definitions in force, for a restart with broken files."""
        data = _STORED.dump_json(self.definitions, by_alias=True, exclude_none=True)
        with suppress(FileError):  # written anew
            if regular_file.read_bytes(self._store, regular_file.STORED_PROMPTS) == data:
                return
        try:
            write_private(self._store, data)
        except OSError as error:
            log.warning("last_good_not_kept", problem=str(error))

    def bundle_json(self, agent: AgentDefinition) -> JsonObject | None:
        """Return the agent's definition as a `PromptBundle` in JSON; None if it has none."""
        found = self.bundle_of(agent)
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
        found = self.bundle_of(agent)
        prompt = {} if found is None else found.root.env
        return known.model_copy(update={"prompt": prompt}).merged()

    def text_environments(self, agent: AgentDefinition, known: Environments) -> Environments:
        """Return the variables that the definition's text uses, which the worker may receive.

        Keys of providers are left out: no worker has one.
        """
        found = self.bundle_of(agent)
        return (
            Environments() if found is None else known.only(found.text_variables - key_variables())
        )

    def bundle_of(self, agent: AgentDefinition) -> PromptBundle | None:
        return self.now.bundle_of(agent)

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
        upper, lower = (self.bundle_of(agent) for agent in (parent, child))
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
        return _STORED.validate_json(regular_file.read_bytes(path, regular_file.STORED_PROMPTS))
    except FileMissingError:
        pass
    except (FileError, ValidationError) as error:
        log.warning("last_good_prompts_not_read", problem=str(error))
    return {}
