"""Find problems of prompt definitions, their files and their use by agents.

A definition that cannot be used is replaced by its last usable version.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path

from orchestrator.agentsfile import AgentsFile, Problem
from orchestrator.agentsfile.missing_extensions import explain_entry_extension
from orchestrator.agentsfile.problems import suggest_name
from orchestrator.config_problem import Severity
from orchestrator.prompts.prompt_tools import build_registry
from orchestrator.settings import Settings
from orchestrator.tools.builtin.host_tool import HostTool, list_parameters
from orchestrator.tools.host_tools import HostTools
from orchestrator.tools.tool_server import list_served_tools
from thinker.formats import regular_file
from thinker.formats.prompts.definition import PromptDefinition
from thinker.formats.prompts.definition_files import DefinitionFile
from thinker.formats.prompts.problem import DefinitionProblem as Finding
from thinker.formats.prompts.registry import Registry
from thinker.formats.prompts.substitution import list_variable_names
from thinker.formats.prompts.tooluse import Resumable, SubagentUse, ToolUse
from thinker.formats.regular_file import FileError, Folder

# Findings that leave the rest of a definition usable, although one of them is an error.
WARNINGS = frozenset({"known_tool", "no_effect"})
UNKNOWN_OPTION = "known_option"
USABLE = WARNINGS | {UNKNOWN_OPTION}

FILE = "agents.json"
HOOKS = "orchestrator.hooks"  # group of entry points


def find_ignored_settings(
    definition: PromptDefinition, names: Registry, tools: Mapping[str, HostTool]
) -> Iterator[Finding]:
    """Yield the settings of a definition that have no effect; ``tools`` are the supervisor's."""
    declared = {variable.name for variable in definition.variables}
    for name in dict.fromkeys(definition.list_text_variables()):
        if name not in declared:
            text = f"'${{{name}}}' is text for the model, as no \"variables\" declare {name!r}"
            yield Finding(
                ("prompt",), "no_effect", f"{text}; declare it, or write the text otherwise"
            )
    for number, entry in enumerate(definition.tools or ()):
        use = names.resolve_tool_entry(entry)
        place = ("tools", number)
        resumable = use.resumable if isinstance(use, SubagentUse) else None
        if isinstance(resumable, Resumable) and resumable.receives_messages == "side_b":
            text = '"side_b" has the effect of "side_a": agents have only one side here'
            yield Finding((*place, "resumable"), "no_effect", text)
        elif isinstance(use, ToolUse) and use.name in tools:
            unused = ", ".join(sorted(use.env.keys() - list_variable_names(use.options)))
            if unused:
                text = f'the tool does not read {unused}; write ${{NAME}} in "options" or remove it'
                yield Finding((*place, "env"), "no_effect", text)


def find_unknown_options(
    definition: PromptDefinition, names: Registry, tools: Mapping[str, HostTool]
) -> Iterator[Finding]:
    """Yield the fixed options that one of the supervisor's ``tools`` does not take.

    The tool's calls would be refused: without the option it might act in the wrong place.
    """
    for number, entry in enumerate(definition.tools or ()):
        known_use = isinstance(names.resolve_tool_entry(entry), ToolUse)
        tool = tools.get(entry.name) if known_use else None
        known = [] if tool is None else list_parameters(tool)
        for option in entry.options or {}:
            if tool is not None and option not in known:
                takes = f"it takes: {', '.join(known)}" if known else "remove it"
                text = (
                    f"{entry.name} has no parameter {option!r}{suggest_name(option, known, takes)}"
                )
                place = ("tools", number, "options", option)
                yield Finding(place, UNKNOWN_OPTION, f"{text}; every call is refused until then")


def choose_usable_versions(
    candidates: Mapping[str, PromptDefinition],
    before: Mapping[str, PromptDefinition],
    agents: AgentsFile,
    hooks: frozenset[str],
) -> tuple[dict[str, PromptDefinition], dict[str, tuple[Finding, ...]]]:
    """Return usable versions of all definitions, and the first findings about each.

    A faulty candidate is replaced by its earlier version. That may break definitions that include
    it, so all are checked again until none is faulty. Each has at most two versions, so this ends.
    """
    current, first = dict(candidates), dict[str, tuple[Finding, ...]]()
    while True:
        names = build_registry(current, agents, hooks)
        found = {name: names.check_definition(definition) for name, definition in current.items()}
        first = {**{name: seen for name, seen in found.items() if seen}, **first}
        faulty = [
            name
            for name, seen in found.items()
            if any(finding.rule not in USABLE for finding in seen)
        ]
        if not faulty:
            return current, first
        for name in faulty:
            refused, fallback = current.pop(name), before.get(name)
            if fallback is not None and fallback != refused:
                current[name] = fallback


def list_file_problems(
    files: Mapping[str, DefinitionFile],
    findings: Mapping[str, Sequence[Finding]],
    in_force: Mapping[str, PromptDefinition],
) -> Iterator[Problem]:
    """Yield the findings as problems of their files."""
    for name, found in sorted(findings.items()):
        path = str(files[name].path)
        for finding in found:
            warning = finding.rule in WARNINGS
            message = f"prompt '{name}': {finding}"
            if finding.rule not in USABLE and name in in_force:
                message += "; its last good version is in force"
            severity: Severity = "warning" if warning else "error"
            line = files[name].find_line(finding)
            yield Problem(severity, path, line, None, message, path=finding.field)


def check_base_prompts(settings: Settings) -> Iterator[Problem]:
    """Yield problems of the default prompt and of a persona folder that the environment names."""
    found = settings.find_default_prompt()
    problem = _find_text_problem(found.path)
    if problem is not None:
        chosen = "THINKER_DEFAULT_SYSTEM_PROMPT_PATH: " if found.source == "environment" else ""
        text = f"{chosen}the default prompt cannot be used: {problem}; agents without a prompt"
        yield Problem.build_unusable(
            found.path, f"{text} of their own have a built-in one until then"
        )
    facts = settings.fact_extraction_prompt_path
    if facts is not None and (problem := _find_text_problem(facts)) is not None:
        text = f"THINKER_FACT_EXTRACTION_PROMPT_PATH: it cannot be used: {problem};"
        yield Problem.build_unusable(
            facts, f"{text}; facts are found with the built-in prompt until then"
        )
    if settings.persona_dir is not None and not settings.persona_dir.is_dir():
        text = "THINKER_PERSONA_DIR: not a folder; create it or correct the variable"
        yield Problem.build_unusable(settings.persona_dir, text)


def _find_text_problem(path: Path) -> str | None:
    """Return the reason why a file is not usable text for a model; None if it is."""
    try:
        text = regular_file.read_text(path, regular_file.BASE_PROMPT)
    except FileError as error:
        return str(error)
    return None if text.strip() else "it is empty; write the text or remove the file"


def check_host_tools(agents: AgentsFile, host: HostTools) -> Iterator[Problem]:
    """Yield the tools of extensions that are left out, and those whose servers nothing keeps."""
    missing = explain_entry_extension("file", "mcpServers")
    if missing and (served := sorted(list_served_tools(agents))):
        text = f"the tools {', '.join(served)} are not there: what serves them {missing}"
        yield Problem("warning", FILE, 0, None, text, path="agents")
    for problem in host.problems:
        yield Problem("warning", FILE, 0, None, f"{problem}; it is left out", path="extensions")


def check_agents(
    agents: AgentsFile, in_force: Mapping[str, PromptDefinition], files: Mapping[str, object]
) -> Iterator[Problem]:
    """Yield problems of agents with an unusable, missing or ignored prompt."""
    for agent in agents.agents:
        name = agent.prompt
        if name is None:
            continue
        who = f"agent '{agent.agent_id}'"
        if name not in in_force:
            advice = (
                "; correct its file"
                if name in files
                else suggest_name(name, files, f"write it to prompts/{name}.md or remove it")
            )
            message = f"{who} has the prompt '{name}', which cannot be used{advice}"
            yield Problem("error", FILE, 0, agent.agent_id, message, path="prompt")
        elif name not in files:
            message = f"{who} has the prompt '{name}', whose file is gone; its last version is used"
            yield Problem("warning", FILE, 0, agent.agent_id, message, path="prompt")
        elif agent.system_prompt:
            message = f'{who} has a "prompt", so its "systemPrompt" has no effect; remove one'
            yield Problem("warning", FILE, 0, agent.agent_id, message, path="systemPrompt")


def check_hooks(
    agents: AgentsFile, in_force: Mapping[str, PromptDefinition], hooks: frozenset[str]
) -> Iterator[Problem]:
    """Yield problems of agents with unknown or forbidden hooks."""
    for agent in agents.agents:
        who = f"agent '{agent.agent_id}'"
        for name in sorted({*agent.hooks} - hooks):
            message = f"{who} has the unknown hook '{name}'{suggest_name(name, hooks)}"
            yield Problem("error", FILE, 0, agent.agent_id, message, path="hooks")
        definition = in_force.get(agent.prompt or "")
        if not agent.allow_hooks and (agent.hooks or (definition and definition.hooks)):
            message = f'{who} has hooks, which are off; set "allowHooks": true or remove them'
            yield Problem("warning", FILE, 0, agent.agent_id, message, path="allowHooks")


def check_hook_syntax(directory: Path, agents: AgentsFile) -> Iterator[Problem]:
    """Yield each hook of an agent with a syntax error; no hook is run here."""
    for name in sorted({hook for agent in agents.agents for hook in agent.hooks}):
        path = directory / f"{name}.py"
        try:
            ast.parse(regular_file.read_bytes(path, regular_file.HOOK))
        except FileError:
            continue  # reported by `check_hooks`, or when it is loaded
        except (SyntaxError, ValueError) as error:
            line = getattr(error, "lineno", None) or 0
            reason = getattr(error, "msg", None) or str(error)
            message = f"hook '{name}': {reason}; it is left out until you correct it"
            yield Problem.build_unusable(path, message, line)


def list_known_hooks(
    directory: Path, agents: AgentsFile, definitions: Iterable[PromptDefinition]
) -> frozenset[str]:
    """Return the names of available hooks: files in ``directory`` and entry points of packages.

    Looks only if an agent or definition has hooks, because it reads the metadata of every package.

    Raises:
        FileError: the directory cannot be used.
    """
    named = [*(a.hooks for a in agents.agents), *(d.hooks for d in definitions)]
    if not any(named):
        return frozenset()
    installed = (found.name for found in entry_points(group=HOOKS))
    files = (
        path.stem for path in map(Path, Folder(directory).list_names()) if path.suffix == ".py"
    )
    return frozenset((*files, *installed))
