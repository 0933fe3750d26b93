"""Step 3, attach tools: make tool tables match the tools that the turn offers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from thinker.formats.prompts.definition import PromptDefinition
from thinker.formats.prompts.sources import LayeredSource
from thinker.formats.prompts.tooluse import INJECTED
from thinker.prompt.render.layered import add_tool_rows
from thinker.prompt.render.sections import Section, ToolRow, ToolTable
from thinker.protocol.messages import JsonObject, ToolSpec


def attach_tools(
    sections: Sequence[Section], definition: PromptDefinition, tools: Sequence[ToolSpec]
) -> tuple[Section, ...]:
    """Return the sections with tool tables that match ``tools``, the tools of the agent.

    The table of a layered prompt also gets the tools that its definition lists. The approval column
    shows what is enforced, even if the author wrote otherwise.
    """
    known = {tool.name: tool for tool in tools}
    if isinstance(definition.prompt, LayeredSource):
        listed = (entry.name for entry in definition.tools or ())
        rows = (ToolRow(name, known[name].description) for name in listed if name in known)
        sections = add_tool_rows(sections, rows)
    return tuple(
        replace(section, body=_match_table(section.body, known))
        if isinstance(section.body, ToolTable)
        else section
        for section in sections
    )


def list_offered_tools(
    definition: PromptDefinition, tools: Sequence[ToolSpec]
) -> tuple[ToolSpec, ...]:
    """Return the tools that a definition offers, in its order and without their fixed options."""
    if definition.tool_choice == "none":
        return ()
    if definition.tools is None:
        return tuple(tools)
    known = {tool.name: tool for tool in tools}
    listed = tuple(
        _hide_fixed_options(known[entry.name], entry.options or {})
        for entry in definition.tools
        if entry.name in known
    )
    return (*listed, *(known[name] for name in INJECTED if name in known))


def _match_table(table: ToolTable, known: Mapping[str, ToolSpec]) -> ToolTable:
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


def _hide_fixed_options(tool: ToolSpec, options: JsonObject) -> ToolSpec:
    """Return a tool with these arguments fixed and hidden from the model."""
    if not options:
        return tool
    parameters = dict(tool.parameters)
    properties, required = parameters.get("properties"), parameters.get("required")
    if isinstance(properties, dict):
        parameters["properties"] = {k: v for k, v in properties.items() if k not in options}
    if isinstance(required, list):
        parameters["required"] = [name for name in required if name not in options]
    return tool.model_copy(update={"parameters": parameters, "fixed": options})
