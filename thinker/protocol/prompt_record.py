"""What the model saw in a turn, as it stands in the journal."""

from typing import Literal

from pydantic import Field

from thinker.protocol.messages import Frozen, LayerRecord, Reasoning, ToolChoice


class ModelSettings(Frozen):
    """What a model is asked with beside the words; ``model`` is the first that is asked."""

    model: str
    temperature: float | None = None
    max_output_tokens: int | None = None
    tool_choice: ToolChoice
    parallel: bool
    reasoning: Reasoning | None = None


class PromptRecord(Frozen):
    """The layers of a turn's prompt in order and the names of the tools offered.

    In the layout ``system`` all layers are the system prompt; in ``cached`` the volatile ones stand
    at the head of the newest user message. ``stable`` and ``volatile`` are fingerprints of the two
    parts in either layout, ``tools_digest`` that of the tools, which are stable; ``changed`` is
    what the stable part differs in from the session's turn before.

    ``settings`` are those of the turn's first call; None in records of older versions.
    ``reasons`` say why each tool was offered; ``missing`` are the tools that matched playbooks need
    and nobody offers: name to playbook.
    """

    layers: tuple[LayerRecord, ...]
    settings: ModelSettings | None = None
    tools: tuple[str, ...] = ()
    reasons: dict[str, str] = Field(default_factory=dict)
    missing: dict[str, str] = Field(default_factory=dict)
    best_score: float | None = None  # how near in meaning the nearest tool is to the message
    temperature: float | None = None  # what the model was asked with because of it
    layout: Literal["system", "cached"] = "system"
    stable: str = ""
    volatile: str = ""
    tools_digest: str = ""
    changed: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The system prompt: its layers joined as they were sent."""
        return "\n\n".join(layer.text for layer in self.layers if not self.beside(layer))

    @property
    def chars(self) -> int:
        """The size of all layers with the blank lines between them, wherever they stand."""
        return sum(len(layer.text) for layer in self.layers) + 2 * max(0, len(self.layers) - 1)

    @property
    def context(self) -> tuple[LayerRecord, ...]:
        """The layers at the head of the newest user message."""
        return tuple(layer for layer in self.layers if self.beside(layer) and not layer.standing)

    def beside(self, layer: LayerRecord) -> bool:
        """Whether a layer stands in a message and not in the system prompt."""
        return self.layout == "cached" and layer.volatile

    def below(self, name: str, text: str) -> "PromptRecord":
        """The record with a layer before all others; itself when there is nothing to say."""
        if not text:
            return self
        first = LayerRecord(name=name, text=text)
        return self.model_copy(update={"layers": (first, *self.layers)})

    def differences(self, earlier: "PromptRecord") -> tuple[str, ...]:
        """The stable layers that are not as they were, and ``tools``; none without fingerprints."""
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
