"""Render a prompt definition: lower → bind → attach → layout.

Each step is a pure function in the module of its name. Every form of definition (a string, parts
with includes, layered sections, slots) takes the same steps.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import orjson

from thinker.formats.prompts.bundle import PromptBundle
from thinker.formats.prompts.problem import DefinitionError
from thinker.prompt.fingerprint import digest
from thinker.prompt.render.agently.blocks import EmptyPromptError
from thinker.prompt.render.agently.message_layout import agently_messages
from thinker.prompt.render.agently.text_layout import agently_text
from thinker.prompt.render.attach import attach
from thinker.prompt.render.bind import bind, for_text
from thinker.prompt.render.layouts import Layout, markdown, plain
from thinker.prompt.render.lower import lower
from thinker.prompt.render.sections import Section
from thinker.protocol.environments import Environments
from thinker.protocol.messages import ToolSpec


def _agently_messages(sections: Sequence[Section]) -> str:
    """Write each message as a line of JSON."""
    messages = agently_messages(sections, rich_content=True).messages
    return "\n".join(orjson.dumps(message).decode() for message in messages)


LAYOUTS: Mapping[str, Layout] = {
    "markdown": markdown,
    "plain": plain,
    "agently_text": lambda sections: agently_text(sections).text,
    "agently_messages": _agently_messages,
}


@dataclass(frozen=True)
class Rendered:
    """A prompt as text, and the sections it comes from."""

    text: str
    sections: tuple[Section, ...]

    @property
    def fingerprint(self) -> str:
        return digest(self.text)


def render(
    bundle: PromptBundle,
    environments: Environments,
    tools: Sequence[ToolSpec],
    layout: str = "markdown",
) -> Rendered:
    """Render the definition of a bundle for an agent with these variables and tools.

    Raises:
        DefinitionError: The definition cannot be used; `Registry.check` finds most causes earlier.
    """
    if layout not in LAYOUTS:
        raise DefinitionError(f"unknown layout {layout!r}; use one of: {', '.join(LAYOUTS)}")
    root = bundle.root
    sections = lower(bundle.sources(), bundle.name)
    declared = [variable for found in bundle.included() for variable in found.variables]
    values = environments.model_copy(update={"prompt": root.env}).merged()
    sections = bind(sections, for_text(values, declared))
    sections = attach(sections, root, tools)
    try:
        return Rendered(LAYOUTS[layout](sections), sections)
    except EmptyPromptError as error:
        raise DefinitionError(str(error.args[0])) from error
