"""The recipes, and the one function that follows them."""

from collections.abc import Callable, Mapping

from thinker.prompt import layers
from thinker.prompt.layers import TurnContext
from thinker.protocol.methods import LayerRecord, PromptRecord, Recipe

Layer = Callable[[TurnContext], str | None]

INTERACTIVE: tuple[Layer, ...] = (
    layers.base,
    layers.playbooks,
    layers.skills,
    layers.date_time,
    layers.chat,
    layers.summary,
    layers.memories,
)
PROACTIVE: tuple[Layer, ...] = (
    layers.base,
    layers.date_time,
    layers.task,
    layers.task_memories,
)
SUBAGENT: tuple[Layer, ...] = (layers.base, layers.date_time)
RECIPES: Mapping[Recipe, tuple[Layer, ...]] = {
    "interactive": INTERACTIVE,
    "proactive": PROACTIVE,
    "subagent": SUBAGENT,
}


def compose(recipe: Recipe, context: TurnContext) -> PromptRecord:
    """The layers of this recipe that have something to say, in its order."""
    texts = ((layer.__name__, layer(context)) for layer in RECIPES[recipe])
    return PromptRecord(
        layers=tuple(LayerRecord(name=name, text=text) for name, text in texts if text is not None)
    )
