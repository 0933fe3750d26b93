"""The extension for Agently: two layouts of prompt definitions."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from orchestrator.extension import Extension

if TYPE_CHECKING:
    from thinker.protocol.rendering import PromptRender, PromptRendered


class AgentlyExtension(Extension):
    """Renders prompts in the layouts of Agently."""

    name = "agently"

    def list_layouts(self) -> "Mapping[str, Callable[[PromptRender], PromptRendered]]":
        def render(request: "PromptRender") -> "PromptRendered":
            from orchestrator.extensions.agently.agently_layouts import LAYOUTS
            from thinker.prompt.render.turn_prompt import render_alone

            return render_alone(request, LAYOUTS)

        return dict.fromkeys(("agently_text", "agently_messages"), render)
