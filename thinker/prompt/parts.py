"""Front end of plain text and of parts with includes (seed 000)."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from thinker.prompt.sections import Section, Text, Variable
from thinker.protocol.prompts.sources import IncludePart, Part, TextPart

Included = Mapping[str, tuple[Section, ...]]  # by name; complete when a front end asks


def lower_text(name: str, text: str) -> tuple[Section, ...]:
    """A plain string: one section, or none when it is empty."""
    return (Section("text", Text(text), name),) if text else ()


def lower_parts(name: str, parts: Iterable[Part], included: Included) -> tuple[Section, ...]:
    """Parts one after the other, with nothing between them."""
    sections: list[Section] = []
    for part in parts:
        first, *rest = lower_part(name, part, included) or (None,)
        if first is not None:
            sections += (replace(first, attached=bool(sections)), *rest)
    return tuple(sections)


def lower_part(name: str, part: Part, included: Included) -> tuple[Section, ...]:
    """One part: its words, the sections of what it includes, or a place for a variable."""
    if isinstance(part, TextPart):
        return lower_text(name, part.content)
    if isinstance(part, IncludePart):
        return included[part.prompt]
    return (Section("variable", Variable(part.property), name),)
