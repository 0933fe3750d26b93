"""Step 1, lower: what an author wrote becomes sections, with everything that it includes.

Each dialect is one front end; no later step knows which it was.
"""

from collections.abc import Mapping

from thinker.prompt import layered, parts, slots
from thinker.prompt.sections import Section, Text
from thinker.protocol.prompts.problem import PromptTooLargeError
from thinker.protocol.prompts.registry import include_order
from thinker.protocol.prompts.sources import LayeredSource, SlotSource, Source

# More than any model reads; twenty definitions that each include the next one twice would make a
# million copies of the last.
MAX_CHARS = 1_000_000
MAX_SECTIONS = 10_000


def lower(sources: Mapping[str, Source], root: str) -> tuple[Section, ...]:
    """The sections of the definition ``root``; each definition on the way is lowered once.

    Raises:
        CircularIncludeError: includes go in a circle.
        UnknownPromptError: a definition is included that ``sources`` does not have.
        PromptTooLargeError: what is included multiplies beyond all use.
    """
    lowered: dict[str, tuple[Section, ...]] = {}
    for name in include_order(sources, root):
        sections = _front_end(name, sources, lowered)
        size = sum(len(s.body.text) for s in sections if isinstance(s.body, Text))
        if size > MAX_CHARS or len(sections) > MAX_SECTIONS:
            raise PromptTooLargeError(
                f"prompt '{name}' has more than {MAX_CHARS} characters or {MAX_SECTIONS} pieces "
                "with what it includes; include less"
            )
        lowered[name] = sections
    return lowered[root]


def _front_end(
    name: str, sources: Mapping[str, Source], included: Mapping[str, tuple[Section, ...]]
) -> tuple[Section, ...]:
    source = sources[name]
    if isinstance(source, str):
        return parts.lower_text(name, source)
    if isinstance(source, SlotSource):
        return slots.lower_slots(name, sources, included)
    if isinstance(source, LayeredSource):
        return layered.lower_layers(name, source.layered, included)
    return parts.lower_parts(name, source, included)
