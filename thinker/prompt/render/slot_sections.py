"""The front end of prompts written as slots."""

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from pydantic import JsonValue, ValidationError

from thinker.formats.prompts.grammar import read
from thinker.formats.prompts.plain import plain
from thinker.formats.prompts.problem import DefinitionError
from thinker.formats.prompts.slots import TITLES, SlotPrompt, SlotTool
from thinker.formats.prompts.sources import SlotSource, Source, as_part
from thinker.prompt.render import sections as bodies
from thinker.prompt.render.container import Slots
from thinker.prompt.render.parts import Sizes, in_role, lower_part
from thinker.prompt.render.requirement import requirement
from thinker.prompt.render.sections import Body, Role, Section

BEFORE_EXTRAS = ("system", "developer", "chat_history", "tools", "action_results", "info")
AFTER_EXTRAS = ("instruct", "examples", "input", "attachment", "output")
ROLES: dict[str, Role] = {"system": "system", "developer": "developer"}


def lower_slots(name: str, sources: Mapping[str, Source], sizes: Sizes) -> tuple[Section, ...]:
    """Return the slots of a definition and of its parents as sections.

    Raises:
        DefinitionError: A parent is not written as slots, or does not fit its child.
    """
    try:
        return lower_slot_prompt(_collected(name, sources).prompt(), name, sizes)
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
        *prompt.extras.items(),
        *((name, getattr(prompt, name)) for name in AFTER_EXTRAS),
    ]
    sections: list[Section] = []
    for name, value in slots:
        if name in prompt.extras or not (value is None or value in ("", [], {})):
            section = Section(
                id=name,
                body=_body(name, value, prompt),
                source=source,
                role=ROLES.get(name, "user"),
                title=TITLES.get(name, name),
            )
            sections += _with_included(section, value, sizes or {})
    return tuple(sections)


def _collected(name: str, sources: Mapping[str, Source]) -> Slots:
    source = sources[name]
    if not isinstance(source, SlotSource):
        raise DefinitionError(
            f"prompt '{name}' is a parent and not written as slots; include it in a slot instead"
        )
    parent = None if source.parent is None else _collected(source.parent, sources)
    return Slots(source.slots, parent=parent)


def _with_included(section: Section, value: object, sizes: Sizes) -> tuple[Section, ...]:
    """Return the section; an include or a variable becomes a heading and its content."""
    part = as_part(value)
    if part is None:
        return (section,)
    first, *rest = lower_part(section.source, part, sizes) or (replace(section, title=""),)
    heading = replace(section, body=bodies.Text(""))
    inserted = (replace(first, attached=True), *rest)
    return (heading, *(in_role(piece, section.role) for piece in inserted))


def _body(name: str, value: object, prompt: SlotPrompt) -> Body:
    match name:
        case "chat_history":
            return bodies.Conversation(tuple(prompt.chat_history))
        case "attachment":
            return bodies.ContentParts(tuple(prompt.attachment))
        case "tools":
            return bodies.ToolTable(tuple(_row(tool) for tool in prompt.tools or ()))
        case "output":
            options = prompt.options
            return bodies.Contract(
                prompt.output, str(prompt.output_format), options.ensure_keys, options.max_retries
            )
    if isinstance(value, str):
        return bodies.Text(value)
    return bodies.Structured(cast(JsonValue, plain(value)))


def _row(tool: SlotTool) -> bodies.ToolRow:
    returns = "returns" in tool.model_fields_set
    return bodies.ToolRow(
        name=tool.name,
        description=tool.desc,
        arguments=requirement(read(plain(tool.arguments))),
        returns=requirement(read(plain(tool.returns))) if returns else "",
    )
