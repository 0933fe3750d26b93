"""Compose a system prompt from layers; each kind of turn has its recipe."""

from collections.abc import Callable, Mapping

from thinker.prompt import layers
from thinker.prompt.layers import LayerContext
from thinker.protocol.messages import LayerRecord
from thinker.protocol.methods import Recipe

Layer = Callable[[LayerContext], str | None]

VOLATILE: frozenset[Layer] = frozenset(  # may change between the turns of a session
    (
        layers.playbooks,
        layers.date_time,
        layers.summary,
        layers.card,
        layers.memories,
        layers.task_memories,
        layers.quoted,
    )
)
RECIPES: Mapping[Recipe, tuple[Layer, ...]] = {
    "interactive": (
        layers.base,
        layers.playbooks,
        layers.skills,
        layers.date_time,
        layers.chat,
        layers.summary,
        layers.card,
        layers.memories,
    ),
    "proactive": (layers.base, layers.date_time, layers.task, layers.card, layers.task_memories),
    "subagent": (layers.base, layers.date_time),
    "hook": (
        layers.base,
        layers.skills,
        layers.date_time,
        layers.event,
        layers.card,
        layers.memories,
    ),
    "request": (
        layers.base,
        layers.playbooks,
        layers.skills,
        layers.date_time,
        layers.card,
        layers.memories,
        layers.instructions,
        layers.output,
    ),
}


def compose_layers(recipe: Recipe, context: LayerContext) -> tuple[LayerRecord, ...]:
    """Return the non-empty layers of a recipe in order, followed by the quoted layer."""
    return tuple(
        LayerRecord(
            name=layer.__name__,
            text=text,
            volatile=layer in VOLATILE,
            quoted=layer is layers.quoted,
        )
        for layer in (*RECIPES[recipe], layers.quoted)
        if (text := layer(context)) is not None
    )
