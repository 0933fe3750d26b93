"""Front end of plain text and of parts with includes (seed 000)."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from thinker.formats.prompts.sources import IncludePart, Part, TextPart
from thinker.prompt.render.sections import Included, Role, Section, Text, VariablePart

Sizes = Mapping[str, int]  # of what can be included, in sections; complete when a front end asks


def lower_text(name: str, text: str) -> tuple[Section, ...]:
    """A plain string: one section, or none when it is empty."""
    return (Section("text", Text(text), name),) if text else ()


def lower_parts(name: str, parts: Iterable[Part], sizes: Sizes) -> tuple[Section, ...]:
    """Parts one after the other, with nothing between them."""
    sections: list[Section] = []
    for part in parts:
        for section in lower_part(name, part, sizes):
            sections.append(replace(section, attached=bool(sections)))
    return tuple(sections)


def lower_part(name: str, part: Part, sizes: Sizes) -> tuple[Section, ...]:
    """One part: its words, the place of what it includes or of a variable; none when empty."""
    if isinstance(part, TextPart):
        return lower_text(name, part.content)
    if isinstance(part, IncludePart):
        return (Section("include", Included(part.prompt), name),) if sizes[part.prompt] else ()
    return (Section("variable", VariablePart(part.property), name),)


def in_role(section: Section, role: Role) -> Section:
    """A section said in another role; of an include, all sections of it."""
    if isinstance(section.body, Included):
        return replace(section, body=replace(section.body, role=role))
    return replace(section, role=role)
