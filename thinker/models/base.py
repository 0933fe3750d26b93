"""The contract of a model adapter."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from thinker.protocol.messages import (
    AUTO,
    AssistantMessage,
    JsonObject,
    Message,
    Reasoning,
    ToolChoice,
    ToolResult,
    ToolSpec,
    Usage,
    UserMessage,
)
from thinker.protocol.methods import Finish

OnText = Callable[[str], None]
IMAGE_CHARACTERS = 6000  # that a picture counts as where the provider does not say: 1500 tokens


@dataclass(frozen=True)
class ModelRequest:
    """One model call, in our own shapes; an adapter turns it into the provider's.

    ``on_text`` receives the answer's text so far (whole) while it streams; None asks for an
    answer in one piece. ``cache_key`` is the same for calls whose prompts begin alike.
    ``output`` is the JSON Schema of the answer, for providers that hold a model to it.
    """

    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: ToolChoice = AUTO
    temperature: float | None = None
    max_output_tokens: int | None = None
    reasoning: Reasoning | None = None
    cache_key: str = ""
    output: JsonObject | None = None
    on_text: OnText | None = field(default=None, compare=False)

    @property
    def characters(self) -> int:
        """Its size, from which tokens are estimated where the provider counts none."""
        parts = (*self.messages, *self.tools)
        seen = (part for part in parts if isinstance(part, UserMessage | ToolResult))
        pictures = sum(len(part.images) for part in seen)
        texts = (len(part.model_dump_json(exclude={"images"})) for part in parts)
        return len(self.system) + sum(texts) + IMAGE_CHARACTERS * pictures


@dataclass(frozen=True)
class ModelResponse:
    """A provider's answer. ``finish`` is why it ended, in the words of `StopReason`.

    ``tool_block`` is what the system prompt began with when tools were offered as text.
    """

    message: AssistantMessage
    usage: Usage = field(default_factory=Usage)
    finish: Finish = "done"
    model: str = ""
    request_id: str = ""
    tool_block: str = ""


class Model(Protocol):
    """One provider's model."""

    @property
    def name(self) -> str:
        """``provider/model``, for logs, the journal and prices."""

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Ask once.

        Raises:
            RetryableModelError: asking again may help.
            FatalModelError: it will not.
        """

    async def aclose(self) -> None:
        """Close connections."""


class ModelWrapper(ABC):
    """A model around another one, which changes what that is asked or what it answers."""

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """The name of the model inside."""
        return self._model.name

    @abstractmethod
    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Ask the model inside; it raises what that raises."""

    async def aclose(self) -> None:
        """Close the model inside."""
        await self._model.aclose()
