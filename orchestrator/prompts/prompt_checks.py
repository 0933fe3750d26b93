"""What is wrong with prompt definitions, their files and how agents use them.

A definition that cannot be used is replaced by its last version that could.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Literal

from orchestrator.agentsfile import AgentsFile, Problem
from orchestrator.agentsfile.problems import suggestion
from orchestrator.prompts.prompt_tools import registry
from orchestrator.tools.builtin.catalog import TOOLS
from thinker.formats.prompts.definition import PromptDefinition
from thinker.formats.prompts.definition_files import DefinitionFile
from thinker.formats.prompts.problem import DefinitionProblem as Finding
from thinker.formats.prompts.registry import Registry
from thinker.formats.prompts.substitution import named
from thinker.formats.prompts.tooluse import Resumable, SubagentUse, ToolUse

# The rest of such a definition holds: the entry is left out, or what has no effect in it.
WARNINGS = frozenset({"known_tool", "no_effect"})

FILE = "agents.json"
HOOKS = "orchestrator.hooks"  # the group of entry points


def without_effect(definition: PromptDefinition, names: Registry) -> Iterator[Finding]:
    """What a definition says that nothing obeys."""
    for number, entry in enumerate(definition.tools or ()):
        use = names.resolve(entry)
        place = ("tools", number)
        lives = use.resumable if isinstance(use, SubagentUse) else None
        if isinstance(lives, Resumable) and lives.receives_messages == "side_b":
            text = '"side_b" is read as "side_a": agents have one side here, which messages are for'
            yield Finding((*place, "resumable"), "no_effect", text)
        elif isinstance(use, ToolUse) and use.name in TOOLS:
            unused = ", ".join(sorted(use.env.keys() - named(use.options)))
            if unused:
                text = f'the tool reads no {unused}; write ${{NAME}} in "options" or remove it'
                yield Finding((*place, "env"), "no_effect", text)


def usable_versions(
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


def file_problems(
    files: Mapping[str, DefinitionFile],
    findings: Mapping[str, Sequence[Finding]],
    in_force: Mapping[str, PromptDefinition],
) -> Iterator[Problem]:
    """What was found, with the files that it is in."""
    for name, found in sorted(findings.items()):
        file = files[name]
        for finding in found:
            grave = finding.rule not in WARNINGS
            kept = "; its last good version is in force" if name in in_force else ""
            message = f"prompt '{name}': {finding}{kept if grave else ''}"
            severity: Literal["error", "warning"] = "error" if grave else "warning"
            yield Problem(severity, str(file.path), 0, None, finding.field, message)


def agent_problems(
    agents: AgentsFile, in_force: Mapping[str, PromptDefinition], files: Mapping[str, object]
) -> Iterator[Problem]:
    """Agents whose definition cannot be used, or not as it was meant."""
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


def hook_problems(
    agents: AgentsFile, in_force: Mapping[str, PromptDefinition], hooks: frozenset[str]
) -> Iterator[Problem]:
    """Agents with hooks that do not exist, or may not run."""
    for agent in agents.agents:
        who = f"agent '{agent.agent_id}'"
        for name in sorted({*agent.hooks} - hooks):
            message = f"{who} has the unknown hook '{name}'{suggestion(name, hooks)}"
            yield Problem("error", FILE, 0, agent.agent_id, "hooks", message)
        definition = in_force.get(agent.prompt or "")
        if not agent.allow_hooks and (agent.hooks or (definition and definition.hooks)):
            message = f'{who} has hooks, which are off; set "allowHooks": true or remove them'
            yield Problem("warning", FILE, 0, agent.agent_id, "allowHooks", message)


def known_hooks(
    directory: Path, agents: AgentsFile, definitions: Iterable[PromptDefinition]
) -> frozenset[str]:
    """The hooks that there are: files of the home, and entry points of installed packages.

    Nobody looks for any unless somebody has hooks: that reads the metadata of every package.
    """
    named = [*(a.hooks for a in agents.agents), *(d.hooks for d in definitions)]
    if not any(named):
        return frozenset()
    installed = (found.name for found in entry_points(group=HOOKS))
    return frozenset((*(path.stem for path in directory.glob("*.py")), *installed))
