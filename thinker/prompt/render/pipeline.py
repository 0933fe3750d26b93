"""Render a prompt definition: lower → bind → attach → layout.

Each step is a pure function in the module of the same name. Every form of definition (a string,
parts with includes, layered sections, slots) takes the same steps.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from thinker.formats.prompts.bundle import PromptBundle
from thinker.prompt.fingerprint import compute_digest
from thinker.prompt.render.attach import attach_tools
from thinker.prompt.render.bind import bind_variables, select_text_values
from thinker.prompt.render.layouts import Layout, render_markdown, render_plain
from thinker.prompt.render.lower import lower_definition
from thinker.prompt.render.sections import Section
from thinker.protocol.environments import Environments
from thinker.protocol.messages import ToolSpec

LAYOUTS: Mapping[str, Layout] = {"markdown": render_markdown, "plain": render_plain}


@dataclass(frozen=True)
class RenderedDefinition:
    """A prompt as text, and the sections it comes from."""

    text: str
    sections: tuple[Section, ...]

    @property
    def fingerprint(self) -> str:
        return compute_digest(self.text)


def render_definition(
    bundle: PromptBundle,
    environments: Environments,
    tools: Sequence[ToolSpec],
    write: Layout = render_markdown,
) -> RenderedDefinition:
    """Render the definition of a bundle for an agent with these variables and tools.

    ``write`` is the layout.

    Raises:
        DefinitionError: The definition cannot be used; `Registry.check_definition` finds most
            causes earlier.
    """
    root = bundle.root
    sections = lower_definition(bundle.collect_sources(), bundle.name)
    declared = [
        variable for found in bundle.list_included_definitions() for variable in found.variables
    ]
    values = environments.model_copy(update={"prompt": root.env}).merge_levels()
    sections = bind_variables(sections, select_text_values(values, declared))
    sections = attach_tools(sections, root, tools)
    return RenderedDefinition(write(sections), sections)
