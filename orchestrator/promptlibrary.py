"""The prompt definitions in force: read from files, cross-checked, the last good ones kept.

A definition that cannot be used is replaced by its last version that could, also after a restart;
what is wrong with its file is reported with place and mend.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import entry_points
from itertools import chain
from pathlib import Path
from typing import Literal

import structlog
from pydantic import TypeAdapter, ValidationError

from orchestrator.adapter import InboundMessage
from orchestrator.definitions import AgentDefinition, AgentsFile, Problem
from orchestrator.definitions.problems import suggestion
from orchestrator.hosttools.base import DelegatingTool
from orchestrator.launch import write_private
from orchestrator.prompttools import prompt_tools, registry
from orchestrator.router import match
from orchestrator.settings import Settings, bundled
from thinker.protocol.messages import JsonObject, SideEffect
from thinker.protocol.prompts.bundle import PromptBundle, bundle
from thinker.protocol.prompts.definition import PromptDefinition
from thinker.protocol.prompts.environments import Env, Environments
from thinker.protocol.prompts.files import DefinitionFile, scan
from thinker.protocol.prompts.problem import Problem as Finding
from thinker.protocol.prompts.registry import Registry
from thinker.protocol.prompts.tooluse import INJECTED, SubagentUse, ToolUse

# The rest of such a definition holds: the entry is left out.
WARNINGS = frozenset({"known_tool", "no_effect_yet"})

FILE = "agents.json"
HOOKS = "orchestrator.hooks"  # the group of entry points

_STORED: TypeAdapter[dict[str, PromptDefinition]] = TypeAdapter(dict[str, PromptDefinition])
log = structlog.get_logger()


class PromptLibrary:
    """Definitions by name, which of them agents use, and what is wrong with the files."""

    def __init__(self, settings: Settings) -> None:
        self._folders = (bundled("prompts"), settings.paths.prompts)
        self._store = settings.paths.prompts_last_good
        self._hooks = settings.paths.hooks
        self._bundles: Mapping[str, PromptBundle] = {}
        self._tools: Callable[[str, Env], Mapping[str, DelegatingTool]] = lambda _n, _e: {}
        self._instance: Env = {}
        self.definitions = _stored(self._store)
        self.problems: tuple[Problem, ...] = ()

    def read(self, agents: AgentsFile) -> None:
        """Read all files again; what cannot be used leaves the definition that there was."""
        files, before = scan(self._folders), self.definitions
        fresh = {name: file.definition for name, file in files.items() if file.definition}
        hooks = _hooks(self._hooks)
        current, problems = _settled({**before, **fresh}, before, agents, hooks)
        bundles = {name: bundle(current, name) for name in current}
        used = {agent.prompt for agent in agents.agents} & bundles.keys()
        needed = {part for name in used if name for part in bundles[name].definitions}
        self._bundles = {n: found for n, found in bundles.items() if n in files or n in needed}
        self.definitions = {name: current[name] for name in self._bundles}
        names = registry(current, agents, hooks)
        self._tools = lambda name, environment: dict(
            prompt_tools(current[name], current, names, agents, environment)
        )
        self._instance = agents.variables
        for name, definition in self.definitions.items():
            problems[name] = (*problems.get(name, ()), *_without_effect(definition, names))
        findings = {name: (*file.problems, *problems.get(name, ())) for name, file in files.items()}
        self.problems = (
            *_file_problems(files, findings, self.definitions),
            *_agent_problems(agents, self.definitions, files),
            *_hook_problems(agents, self.definitions, hooks),
        )

    def tools(self, agent: AgentDefinition) -> Mapping[str, DelegatingTool]:
        """The prompts and agents that the agent's definition has among its tools, as tools."""
        found = self._bundles.get(agent.prompt or "")
        if found is None:
            return {}
        known = Environments(instance=self._instance, agent=agent.env, prompt=found.root.env)
        return self._tools(found.name, known.merged())

    def hands_over(self, agent: AgentDefinition, name: str) -> bool:
        """Whether a tool of the agent's definition gives the chat to another agent."""
        tool = self.tools(agent).get(name)
        return tool is not None and tool.hands_over

    def classes(self) -> Mapping[str, SideEffect]:
        """The side-effect class of every prompt and agent that is a tool."""
        entries = (found.root.tools or () for found in self._bundles.values())
        named = (entry.name for entry in chain.from_iterable(entries))
        return dict.fromkeys((*named, *INJECTED), SideEffect.LOCAL_TX)

    def keep(self) -> None:
        """Store the definitions in force, to begin with them if their files are broken then."""
        data = _STORED.dump_json(self.definitions, by_alias=True, exclude_none=True)
        try:
            if not self._store.exists() or self._store.read_bytes() != data:
                write_private(self._store, data)
        except OSError as error:
            log.warning("last_good_not_kept", problem=str(error))

    def of(self, agent: AgentDefinition) -> JsonObject | None:
        """The agent's definition as a `PromptBundle` in JSON; None when it has no usable one."""
        found = self._bundles.get(agent.prompt or "")
        return None if found is None else found.as_json()

    def environments(
        self, agent: AgentDefinition, agents: AgentsFile, message: InboundMessage
    ) -> Environments:
        """What agents.json sets the variables to that the agent's definition declares."""
        found = self._bundles.get(agent.prompt or "")
        if found is None:
            return Environments()
        binding = match(agents.bindings, message)
        channel = getattr(agents.channels, message.channel, None)
        return Environments(
            thread={} if binding is None else binding.variables,
            account={} if channel is None else channel.variables,
            instance=agents.variables,
            agent=agent.env,
        ).only(found.declared)

    def with_model(self, agent: AgentDefinition, agents: AgentsFile) -> AgentDefinition:
        """The agent with the model that its definition names."""
        found = self.definitions.get(agent.prompt or "")
        reference = None if found is None else agents.models.get(found.model)
        if reference is None:
            return agent
        return agent.model_copy(
            update={
                "llm_provider": reference.provider,
                "model": reference.model,
                "base_url": reference.base_url,
                "temperature": agent.temperature
                if reference.temperature is None
                else reference.temperature,
            }
        )


def _without_effect(definition: PromptDefinition, names: Registry) -> Iterator[Finding]:
    """What a definition says that nothing obeys yet."""
    for number, entry in enumerate(definition.tools or ()):
        use = names.resolve(entry)
        place = ("tools", number)
        if isinstance(use, SubagentUse) and use.immediate:
            text = '"immediate" has no effect yet; remove it'
            yield Finding((*place, "immediate"), "no_effect_yet", text)
        elif isinstance(use, ToolUse) and use.env:
            text = '"env" of a tool has no effect yet; set it in "env" of the MCP server'
            yield Finding((*place, "env"), "no_effect_yet", text)


def _settled(
    candidates: Mapping[str, PromptDefinition],
    before: Mapping[str, PromptDefinition],
    agents: AgentsFile,
    hooks: frozenset[str],
) -> tuple[dict[str, PromptDefinition], dict[str, tuple[Finding, ...]]]:
    """The candidates that hold together, faulty ones by their version before; what was wrong.

    A version that is taken back may break what includes it, so all are checked again until none
    is faulty; each has two versions at most, so that ends.
    """
    current, first = dict(candidates), dict[str, tuple[Finding, ...]]()
    while True:
        names = registry(current, agents, hooks)
        found = {name: names.check(definition) for name, definition in current.items()}
        first = {**{name: seen for name, seen in found.items() if seen}, **first}
        faulty = [
            name
            for name, seen in found.items()
            if any(finding.rule not in WARNINGS for finding in seen)
        ]
        if not faulty:
            return current, first
        for name in faulty:
            refused, fallback = current.pop(name), before.get(name)
            if fallback is not None and fallback != refused:
                current[name] = fallback


def _file_problems(
    files: Mapping[str, DefinitionFile],
    findings: Mapping[str, Sequence[Finding]],
    in_force: Mapping[str, PromptDefinition],
) -> Iterator[Problem]:
    for name, found in sorted(findings.items()):
        file = files[name]
        for finding in found:
            grave = finding.rule not in WARNINGS
            kept = "; its last good version is in force" if name in in_force else ""
            message = f"prompt '{name}': {finding}{kept if grave else ''}"
            severity: Literal["error", "warning"] = "error" if grave else "warning"
            yield Problem(severity, str(file.path), 0, None, finding.field, message)


def _agent_problems(
    agents: AgentsFile, in_force: Mapping[str, PromptDefinition], files: Mapping[str, object]
) -> Iterator[Problem]:
    for agent in agents.agents:
        name = agent.prompt
        if name is None:
            continue
        who = f"agent '{agent.agent_id}'"
        if name not in in_force:
            broken = "; mend its file" if name in files else suggestion(name, files)
            message = f"{who} has the prompt '{name}', which cannot be used{broken}"
            yield Problem("error", FILE, 0, agent.agent_id, "prompt", message)
        elif name not in files:
            message = f"{who} has the prompt '{name}', whose file is gone; its last version is used"
            yield Problem("warning", FILE, 0, agent.agent_id, "prompt", message)
        elif agent.system_prompt:
            message = f'{who} has a "prompt", so its "systemPrompt" has no effect; remove one'
            yield Problem("warning", FILE, 0, agent.agent_id, "systemPrompt", message)


def _hook_problems(
    agents: AgentsFile, in_force: Mapping[str, PromptDefinition], hooks: frozenset[str]
) -> Iterator[Problem]:
    for agent in agents.agents:
        who = f"agent '{agent.agent_id}'"
        for name in sorted({*agent.hooks} - hooks):
            message = f"{who} has the unknown hook '{name}'{suggestion(name, hooks)}"
            yield Problem("error", FILE, 0, agent.agent_id, "hooks", message)
        definition = in_force.get(agent.prompt or "")
        if not agent.allow_hooks and (agent.hooks or (definition and definition.hooks)):
            message = f'{who} has hooks, which are off; set "allowHooks": true or remove them'
            yield Problem("warning", FILE, 0, agent.agent_id, "allowHooks", message)


def _hooks(directory: Path) -> frozenset[str]:
    """The hooks that there are: files of the home, and entry points of installed packages."""
    installed = (found.name for found in entry_points(group=HOOKS))
    return frozenset((*(path.stem for path in directory.glob("*.py")), *installed))


def _stored(path: Path) -> dict[str, PromptDefinition]:
    try:
        return _STORED.validate_json(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValidationError) as error:
        log.warning("last_good_prompts_not_read", problem=str(error))
        return {}
