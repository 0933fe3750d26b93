"""Check the names in prompt definitions: models, tools, includes, variables, hooks and agents.

`definition.parse_definition` checks the form of one definition; the registry knows what its names
refer to.
"""

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from thinker.formats.prompts import tooluse
from thinker.formats.prompts.definition import INHERIT, PromptDefinition, parse_definition
from thinker.formats.prompts.problem import (
    CircularIncludeError,
    DefinitionProblem,
    UnknownPromptError,
)
from thinker.formats.prompts.sources import (
    EnvPart,
    IncludePart,
    Source,
    list_included_names,
    list_parts,
)
from thinker.formats.prompts.substitution import list_variable_names
from thinker.formats.prompts.tooluse import ToolEntry

TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")  # what every provider accepts
_UNCALLABLE = "{name!r} cannot be called by models; use letters, digits, - and _, at most 64"
SUBAGENT_OPTIONS = tooluse.SubagentUse.model_fields.keys() - tooluse.HandoffUse.model_fields.keys()


class AgentKind(NamedTuple):
    """How an agent works as a tool; ``exposed`` says whether other agents may call it."""

    dual: bool = False  # dual_ai agents become subagents; other agents take over the chat
    exposed: bool = True


@dataclass(frozen=True)
class Registry:
    """The known names of each kind; if ``tools`` is None, every tool name is known."""

    prompts: Mapping[str, Source]
    models: frozenset[str] = frozenset()
    tools: Container[str] | None = None
    agents: Mapping[str, AgentKind] = field(default_factory=dict)
    hooks: frozenset[str] = frozenset()

    def validate_definition(self, value: object) -> tuple[DefinitionProblem, ...]:
        """Return every problem of a definition in JSON: its form first, then its names."""
        definition, problems = parse_definition(value)
        return problems if definition is None else self.check_definition(definition)

    def check_definition(self, definition: PromptDefinition) -> tuple[DefinitionProblem, ...]:
        return (
            *self._check_model(definition),
            *self._check_includes(definition),
            *self._check_variables(definition),
            *self._check_tools(definition.tools or ()),
            *_check_option_variables(definition),
            *self._check_hooks(definition),
            *_check_tool_choice(definition),
        )

    def resolve_tool_entry(self, entry: ToolEntry) -> tooluse.Use | None:
        """Find an entry among the tools, then the prompts, then the agents; None if unknown."""
        kind = self._find_use_type(entry)
        return None if kind is None else entry.convert_to_use(kind)

    def _find_use_type(self, entry: ToolEntry) -> type[tooluse.Use] | None:
        name = entry.name
        if self.tools is not None and name in self.tools:
            return tooluse.ToolUse
        if name in self.prompts:
            return tooluse.SubpromptUse
        if name in self.agents:
            return tooluse.SubagentUse if self.agents[name].dual else tooluse.HandoffUse
        return None if self.tools is not None else tooluse.ToolUse

    def _check_model(self, definition: PromptDefinition) -> Iterator[DefinitionProblem]:
        if definition.model != INHERIT and definition.model not in self.models:
            known = ", ".join(sorted({INHERIT, *self.models}))
            advice = f'add it to "models" in agents.json or use one of: {known}'
            message = f"there is no model {definition.model!r}; {advice}"
            yield DefinitionProblem(("model",), "defined_model", message)

    def _check_includes(self, definition: PromptDefinition) -> Iterator[DefinitionProblem]:
        known = {**self.prompts, definition.name: definition.prompt}
        for path, name in _list_include_places(definition.prompt):
            if name not in known:
                message = f"there is no prompt {name!r}; correct the name"
                yield DefinitionProblem(path, "known_prompt", message)
        try:
            order_includes(known, definition.name)
        except CircularIncludeError as error:
            yield DefinitionProblem(("prompt",), "circular_include", str(error))
        except UnknownPromptError as error:
            if error.by != definition.name:
                yield DefinitionProblem(("prompt",), "known_prompt", str(error))

    def _check_variables(self, definition: PromptDefinition) -> Iterator[DefinitionProblem]:
        declared: dict[str, str] = {}
        for number, variable in enumerate(definition.variables):
            if variable.name in declared:
                message = f"{variable.name!r} is declared twice; remove one"
                place = ("variables", number, "name")
                yield DefinitionProblem(place, "unique_variable", message)
            declared[variable.name] = variable.type
        rule = 'may be used in the text only when "variables" declares it with type "text"'
        for part in list_parts(definition.prompt):
            if isinstance(part, EnvPart) and declared.get(part.property) != "text":
                message = f"{part.property!r} {rule}"
                yield DefinitionProblem(("prompt",), "text_variable", message)
        for name in dict.fromkeys(definition.list_text_variables()):
            if declared.get(name) == "secret":
                message = f"'${{{name}}}' {rule}"
                yield DefinitionProblem(("prompt",), "text_variable", message)

    def _check_tools(self, entries: Sequence[ToolEntry]) -> Iterator[DefinitionProblem]:
        seen: set[str] = set()
        for number, entry in enumerate(entries):
            place: tuple[str | int, ...] = ("tools", number)
            name_place = place if entry.is_bare else (*place, "name")
            if entry.name in seen:
                message = f"{entry.name!r} is listed twice; remove one"
                yield DefinitionProblem((*place, "name"), "unique_tool_name", message)
            seen.add(entry.name)
            kind = self._find_use_type(entry)
            if kind is None:
                message = f"there is no tool, prompt or agent {entry.name!r}"
                yield DefinitionProblem(name_place, "known_tool", message)
            else:
                if kind is not tooluse.ToolUse and not TOOL_NAME.fullmatch(entry.name):
                    message = _UNCALLABLE.format(name=entry.name)
                    yield DefinitionProblem(name_place, "tool_name", message)
                yield from self._check_agent(entry, kind, (*place, "name"))
                yield from _check_options(entry, kind, place)

    def _check_agent(
        self, entry: ToolEntry, kind: type[tooluse.Use], place: tuple[str | int, ...]
    ) -> Iterator[DefinitionProblem]:
        hidden = kind is tooluse.SubagentUse and not self.agents[entry.name].exposed
        subagent_options = kind is tooluse.HandoffUse and entry.model_fields_set & SUBAGENT_OPTIONS
        if hidden or subagent_options:
            advice = "remove its subagent options" if subagent_options else "expose it as a tool"
            message = f"agent {entry.name!r} cannot work as a subagent; {advice}"
            yield DefinitionProblem(place, "exposed_dual_ai_agent", message)

    def _check_hooks(self, definition: PromptDefinition) -> Iterator[DefinitionProblem]:
        for number, hook in enumerate(definition.hooks or ()):
            if hook not in self.hooks:
                message = f"there is no hook {hook!r}; add hooks/{hook}.py"
                yield DefinitionProblem(("hooks", number), "known_hook", message)


def order_includes(prompts: Mapping[str, Source], root: str) -> tuple[str, ...]:
    """Return ``root`` and every definition it includes, each once and after its own includes.

    Raises:
        UnknownPromptError: A definition does not exist.
        CircularIncludeError: A definition includes itself, directly or through others.
    """
    if root not in prompts:
        raise UnknownPromptError(root)
    done: dict[str, None] = {}
    path: dict[str, Iterator[str]] = {root: list_included_names(prompts[root])}
    while path:
        current = next(reversed(path))
        name = next(path[current], None)
        if name is None:
            done[current] = None
            del path[current]
        elif name in path:
            names = tuple(path)
            raise CircularIncludeError((*names[names.index(name) :], name))
        elif name not in prompts:
            raise UnknownPromptError(name, current)
        elif name not in done:
            path[name] = list_included_names(prompts[name])
    return tuple(done)


def _list_include_places(source: Source) -> list[tuple[tuple[str | int, ...], str]]:
    """Return the path and name of every include; only parts of a list have a path each."""
    if not isinstance(source, tuple):
        return [(("prompt",), name) for name in list_included_names(source)]
    includes = ((i, part) for i, part in enumerate(source) if isinstance(part, IncludePart))
    return [(("prompt", number, "prompt"), part.prompt) for number, part in includes]


def _check_options(
    entry: ToolEntry, kind: type[tooluse.Use], place: tuple[str | int, ...]
) -> Iterator[DefinitionProblem]:
    options = entry.list_inapplicable_options(kind)
    if kind is tooluse.HandoffUse:  # Registry._check_agent reports these
        reported = {ToolEntry.model_fields[name].alias for name in SUBAGENT_OPTIONS}
        options = [name for name in options if name not in reported]
    if options:
        message = f"{entry.name!r} is a {kind.kind}, which has no {', '.join(options)}; remove that"
        yield DefinitionProblem(place, "options_not_applicable", message)


def _check_option_variables(definition: PromptDefinition) -> Iterator[DefinitionProblem]:
    """Yield a problem for each variable in options that nothing declares or sets."""
    known = {*definition.env, *(variable.name for variable in definition.variables)}
    for number, entry in enumerate(definition.tools or ()):
        for name in list_variable_names(entry.options):
            if name not in known | (entry.env or {}).keys():
                message = f'{name!r} is not declared; add it to "variables" or "env"'
                yield DefinitionProblem(("tools", number, "options"), "known_variable", message)


def _check_tool_choice(definition: PromptDefinition) -> Iterator[DefinitionProblem]:
    if definition.tool_choice == "required" and definition.tools == ():
        message = '"required" needs at least one tool in "tools"'
        yield DefinitionProblem(("toolChoice",), "required_needs_tools", message)
