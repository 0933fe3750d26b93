"""The front end of plain text and of parts with includes."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from thinker.formats.prompts.sources import IncludePart, Part, TextPart
from thinker.prompt.render.sections import IncludedDefinition, Role, Section, Text, VariablePart

Sizes = Mapping[str, int]  # number of sections of each definition that can be included


def lower_parts(name: str, parts: Iterable[Part], sizes: Sizes) -> tuple[Section, ...]:
    """Return the sections of parts that follow each other without a separator."""
    sections: list[Section] = []
    for part in parts:
        for section in lower_part(name, part, sizes):
            sections.append(replace(section, attached=bool(sections)))
    return tuple(sections)


def lower_part(name: str, part: Part, sizes: Sizes) -> tuple[Section, ...]:
    """Return the section of a text, an include or a variable; nothing if it is empty."""
    if isinstance(part, TextPart):
        return (Section("text", Text(part.content), name),) if part.content else ()
    if isinstance(part, IncludePart):
        return (
            (Section("include", IncludedDefinition(part.prompt), name),)
            if sizes[part.prompt]
            else ()
        )
    return (Section("variable", VariablePart(part.property), name),)


def assign_role(section: Section, role: Role) -> Section:
    """Return the section in another role; an include passes the role to its sections."""
    if isinstance(section.body, IncludedDefinition):
        return replace(section, body=replace(section.body, role=role))
    return replace(section, role=role)
