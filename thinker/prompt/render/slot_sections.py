"""The front end of prompts written as slots."""

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from pydantic import JsonValue, ValidationError

from thinker.formats.prompts.grammar import parse_output_schema
from thinker.formats.prompts.plain import to_plain_data
from thinker.formats.prompts.problem import DefinitionError
from thinker.formats.prompts.slots import TITLES, SlotPrompt, SlotTool
from thinker.formats.prompts.sources import SlotSource, Source, parse_part
from thinker.prompt.render import sections as bodies
from thinker.prompt.render.parts import Sizes, assign_role, lower_part
from thinker.prompt.render.requirement import format_requirement
from thinker.prompt.render.sections import Body, Role, Section
from thinker.prompt.render.slot_values import Values, collect_values, inherit_values

BEFORE_EXTRAS = ("system", "developer", "chat_history", "tools", "action_results", "info")
AFTER_EXTRAS = ("instruct", "examples", "input", "attachment", "output")
ROLES: dict[str, Role] = {"system": "system", "developer": "developer"}


def lower_slots(name: str, sources: Mapping[str, Source], sizes: Sizes) -> tuple[Section, ...]:
    """Return the slots of a definition and of its parents as sections.

    Raises:
        DefinitionError: A parent is not written as slots, or does not fit its child.
    """
    try:
        prompt = SlotPrompt.model_validate(_collect_slots(name, sources))
        return lower_slot_prompt(prompt, name, sizes)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise DefinitionError(
            f"prompt '{name}' with its parents: {place}: {first['msg']}"
        ) from error


def lower_slot_prompt(
    prompt: SlotPrompt, source: str, sizes: Sizes | None = None
) -> tuple[Section, ...]:
    """Return a section for every slot that is set; extra slots come between info and instruct.

    A slot set to 0 or False has a section too, although layouts show nothing for it.
    """
    slots = [
        *((name, getattr(prompt, name)) for name in BEFORE_EXTRAS),
        *prompt.extra_slots.items(),
        *((name, getattr(prompt, name)) for name in AFTER_EXTRAS),
    ]
    sections: list[Section] = []
    for name, value in slots:
        if name in prompt.extra_slots or not (value is None or value in ("", [], {})):
            section = Section(
                id=name,
                body=_build_body(name, value, prompt),
                source=source,
                role=ROLES.get(name, "user"),
                title=TITLES.get(name, name),
            )
            sections += _expand_part(section, value, sizes or {})
    return tuple(sections)


def _collect_slots(name: str, sources: Mapping[str, Source]) -> Values:
    source = sources[name]
    if not isinstance(source, SlotSource):
        raise DefinitionError(
            f"prompt '{name}' is a parent and not written as slots; include it in a slot instead"
        )
    values = collect_values(source.slots)
    if source.parent is None:
        return values
    return inherit_values(values, _collect_slots(source.parent, sources))


def _expand_part(section: Section, value: object, sizes: Sizes) -> tuple[Section, ...]:
    """Return the section; an include or a variable becomes a heading and the content."""
    part = parse_part(value)
    if part is None:
        return (section,)
    first, *rest = lower_part(section.source, part, sizes) or (replace(section, title=""),)
    heading = replace(section, body=bodies.Text(""))
    inserted = (replace(first, attached=True), *rest)
    return (heading, *(assign_role(piece, section.role) for piece in inserted))


def _build_body(name: str, value: object, prompt: SlotPrompt) -> Body:
    match name:
        case "chat_history":
            return bodies.Conversation(tuple(prompt.chat_history))
        case "attachment":
            return bodies.ContentParts(tuple(prompt.attachment))
        case "tools":
            return bodies.ToolTable(tuple(_build_row(tool) for tool in prompt.tools or ()))
        case "output":
            options = prompt.options
            return bodies.Contract(
                prompt.output, str(prompt.output_format), options.ensure_keys, options.max_retries
            )
    if isinstance(value, str):
        return bodies.Text(value)
    return bodies.Structured(cast(JsonValue, to_plain_data(value)))


def _build_row(tool: SlotTool) -> bodies.ToolRow:
    returns = "returns" in tool.model_fields_set
    return bodies.ToolRow(
        name=tool.name,
        description=tool.desc,
        arguments=format_requirement(parse_output_schema(to_plain_data(tool.arguments))),
        returns=format_requirement(parse_output_schema(to_plain_data(tool.returns)))
        if returns
        else "",
    )
