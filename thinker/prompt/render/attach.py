"""Step 3, attach tools: what the prompt's table says of them, and what is really offered."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from thinker.formats.prompts.definition import PromptDefinition
from thinker.formats.prompts.sources import LayeredSource
from thinker.formats.prompts.tooluse import INJECTED
from thinker.prompt.render.layered import with_tools
from thinker.prompt.render.sections import Section, ToolRow, ToolTable
from thinker.protocol.messages import JsonObject, ToolSpec


def attach(
    sections: Sequence[Section], definition: PromptDefinition, tools: Sequence[ToolSpec]
) -> tuple[Section, ...]:
    """Sections whose tables tell the truth about ``tools``, everything that the agent may use.

    A layered prompt's table also gets the tools that its definition lists. The approval shown is
    the one that is enforced, whatever an author wrote.
    """
    known = {tool.name: tool for tool in tools}
    if isinstance(definition.prompt, LayeredSource):
        listed = (entry.name for entry in definition.tools or ())
        rows = (ToolRow(name, known[name].description) for name in listed if name in known)
        sections = with_tools(sections, rows)
    return tuple(
        replace(section, body=_true(section.body, known))
        if isinstance(section.body, ToolTable)
        else section
        for section in sections
    )


def offered(definition: PromptDefinition, tools: Sequence[ToolSpec]) -> tuple[ToolSpec, ...]:
    """The tools that a definition leaves a turn, in its order; fixed options are not shown."""
    if definition.tool_choice == "none":
        return ()
    if definition.tools is None:
        return tuple(tools)
    known = {tool.name: tool for tool in tools}
    named = tuple(
        _without(known[entry.name], entry.options or {})
        for entry in definition.tools
        if entry.name in known
    )
    return (*named, *(known[name] for name in INJECTED if name in known))


def _true(table: ToolTable, known: Mapping[str, ToolSpec]) -> ToolTable:
    return ToolTable(
        tuple(
            replace(
                row,
                description=row.description or known[row.name].description,
                approval="always" if known[row.name].approval else "never",
            )
            if row.name in known
            else row
            for row in table.rows
        )
    )


def _without(tool: ToolSpec, options: JsonObject) -> ToolSpec:
    """The tool as a model sees it that cannot set these arguments."""
    if not options:
        return tool
    parameters = dict(tool.parameters)
    properties, required = parameters.get("properties"), parameters.get("required")
    if isinstance(properties, dict):
        parameters["properties"] = {k: v for k, v in properties.items() if k not in options}
    if isinstance(required, list):
        parameters["required"] = [name for name in required if name not in options]
    return tool.model_copy(update={"parameters": parameters, "fixed": options})
