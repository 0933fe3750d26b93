"""The prompt of a turn as the model saw it, stored in the journal."""

from collections.abc import Collection
from typing import Literal

from pydantic import Field

from thinker.protocol.messages import Frozen, LayerRecord, Reasoning, ToolChoice

TOOL_BLOCK = "tool_calls"  # the layer with tools that are offered as text, made with each request


class ModelSettings(Frozen):
    """The parameters of a turn's first model call; ``model`` is the first of the fallback chain."""

    model: str
    temperature: float | None = None
    max_output_tokens: int | None = None
    tool_choice: ToolChoice
    parallel: bool
    reasoning: Reasoning | None = None


class PromptRecord(Frozen):
    """The layers of a turn's prompt, in order, and the names of the tools offered.

    In the ``system`` layout all layers form the system prompt; in ``cached`` the volatile layers go
    at the head of the newest user message, as quoted layers do in both. ``stable`` and ``volatile``
    are fingerprints of the two parts in either layout; ``tools_digest`` is the fingerprint of the
    tools, which are stable. ``changed`` names the stable layers that differ from the session's
    previous turn, and ``tools`` if they differ.

    ``settings`` belong to the turn's first call; None in records of older versions. ``reasons`` say
    why each tool was offered. ``missing`` maps tools that matched playbooks need but that are not
    offered to the playbook. ``playbooks`` has the keywords of every skill that could match.
    """

    layers: tuple[LayerRecord, ...]
    settings: ModelSettings | None = None
    tools: tuple[str, ...] = ()
    reasons: dict[str, str] = Field(default_factory=dict)
    missing: dict[str, str] = Field(default_factory=dict)
    playbooks: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    best_score: float | None = None  # cosine of the message and the nearest tool
    temperature: float | None = None  # the temperature chosen by that score
    layout: Literal["system", "cached"] = "system"
    stable: str = ""
    volatile: str = ""
    tools_digest: str = ""
    changed: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The system prompt: its layers joined as sent."""
        return "\n\n".join(layer.text for layer in self.layers if not self.is_in_message(layer))

    @property
    def chars(self) -> int:
        """Characters of all layers, wherever they go, with the blank lines between them."""
        return sum(len(layer.text) for layer in self.layers) + 2 * max(0, len(self.layers) - 1)

    @property
    def context(self) -> tuple[LayerRecord, ...]:
        """The layers sent at the head of the newest user message."""
        return tuple(
            layer for layer in self.layers if self.is_in_message(layer) and not layer.standing
        )

    def is_in_message(self, layer: LayerRecord) -> bool:
        """Return whether a layer goes into a message instead of the system prompt."""
        return layer.quoted or (self.layout == "cached" and layer.volatile)

    def prepend_layer(self, name: str, text: str) -> "PromptRecord":
        """Return the record with a layer before all others, or itself if ``text`` is empty."""
        if not text:
            return self
        first = LayerRecord(name=name, text=text)
        return self.model_copy(update={"layers": (first, *self.layers)})

    def renew_layers(self, fresh: "PromptRecord", names: Collection[str]) -> "PromptRecord":
        """Return the record with layers of these names, if any, as ``fresh`` has them now."""
        renewed = {layer.name: layer for layer in fresh.layers if layer.name in names}
        kept = {layer.name: layer for layer in self.layers if layer.name not in names}
        order = [layer.name for layer in self.layers]
        previous = 0
        for layer in fresh.layers:
            if layer.name in order:
                previous = order.index(layer.name) + 1
            elif layer.name in renewed:
                order.insert(previous, layer.name)
                previous += 1
        every = kept | renewed
        layers = tuple(every[name] for name in order if name in every)
        return self.model_copy(update={"layers": layers})

    def find_differences(self, earlier: "PromptRecord") -> tuple[str, ...]:
        """Return the names of changed stable layers, and ``tools``; empty without fingerprints."""
        if not earlier.stable or self.stable == earlier.stable:
            return ()
        ours, theirs = (
            {layer.name: layer.text for layer in record.layers if not layer.volatile}
            for record in (self, earlier)
        )
        names = [name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)]
        if self.tools_digest != earlier.tools_digest:
            names.append("tools")
        return tuple(names)


class PromptPreview(Frozen):
    """The next model call of a turn, not sent; ``request`` is its body, which may be empty."""

    record: PromptRecord
    request: str = ""
