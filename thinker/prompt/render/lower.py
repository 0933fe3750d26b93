"""Step 1, lower: turn a definition and everything it includes into sections.

Each form of definition has a front end; later steps see only sections.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from thinker.formats.prompts.problem import PromptTooLargeError
from thinker.formats.prompts.registry import order_includes
from thinker.formats.prompts.sources import LayeredSource, SlotSource, Source, TextPart
from thinker.prompt.render import layered, parts, slot_sections
from thinker.prompt.render.parts import Sizes
from thinker.prompt.render.sections import IncludedDefinition, Role, Section, Text

# More than any model can read. Twenty definitions that each include the next one twice would make a
# million copies of the last one.
MAX_CHARS = 1_000_000
MAX_SECTIONS = 10_000


def lower_definition(sources: Mapping[str, Source], root: str) -> tuple[Section, ...]:
    """Return the sections of the definition ``root`` with its includes in their places.

    The cost grows with the size of the sources and of the result.

    Raises:
        CircularIncludeError: Definitions include each other.
        UnknownPromptError: ``sources`` lacks a definition.
        PromptTooLargeError: The result exceeds ``MAX_CHARS`` or ``MAX_SECTIONS``.
    """
    lowered: dict[str, tuple[Section, ...]] = {}
    sizes: dict[str, int] = {}
    chars: dict[str, int] = {}
    for name in order_includes(sources, root):
        lowered[name] = _lower_source(name, sources, sizes)
        sizes[name] = sum(_measure_section(section, sizes, 1) for section in lowered[name])
        chars[name] = sum(
            _measure_section(
                section, chars, len(section.body.text) if isinstance(section.body, Text) else 0
            )
            for section in lowered[name]
        )
        if chars[name] > MAX_CHARS or sizes[name] > MAX_SECTIONS:
            raise PromptTooLargeError(
                f"prompt '{name}' with its includes has more than {MAX_CHARS} characters or "
                f"{MAX_SECTIONS} sections; include less"
            )
    return tuple(_expand_includes(lowered, root))


def _lower_source(name: str, sources: Mapping[str, Source], sizes: Sizes) -> tuple[Section, ...]:
    source = sources[name]
    if isinstance(source, SlotSource):
        return slot_sections.lower_slots(name, sources, sizes)
    if isinstance(source, LayeredSource):
        return layered.lower_layers(name, source.layered, sizes)
    texts = (TextPart(content=source),) if isinstance(source, str) else source
    return parts.lower_parts(name, texts, sizes)


def _measure_section(section: Section, sizes: Mapping[str, int], own_size: int) -> int:
    return sizes[section.body.name] if isinstance(section.body, IncludedDefinition) else own_size


@dataclass
class _Place:
    """A definition being expanded: its remaining sections, and the overrides of its include.

    ``attached`` overrides the first section's ``attached``, ``role`` the roles of all sections.
    """

    rest: Iterator[Section]
    attached: bool | None = None
    role: Role | None = None


def _expand_includes(lowered: Mapping[str, tuple[Section, ...]], root: str) -> Iterator[Section]:
    """Yield the sections of ``root`` with every include replaced by its sections."""
    places = [_Place(iter(lowered[root]))]
    while places:
        place = places[-1]
        section = next(place.rest, None)
        if section is None:
            places.pop()
            continue
        if place.attached is not None:
            section, place.attached = replace(section, attached=place.attached), None
        body = section.body
        if isinstance(body, IncludedDefinition):
            inside = iter(lowered[body.name])
            places.append(_Place(inside, section.attached, place.role or body.role))
        else:
            yield section if place.role is None else replace(section, role=place.role)
