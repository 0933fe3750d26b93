"""The contract of a model adapter."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from thinker.models.call_meter import CallMeter
from thinker.protocol import messages
from thinker.protocol.degradations import Degradation
from thinker.protocol.messages import AUTO, JsonObject, Message, Reasoning, ToolChoice, ToolSpec
from thinker.protocol.methods import Finish

OnText = Callable[[str], None]
IMAGE_CHARACTERS = 6000  # counted for a picture (1500 tokens) if the provider reports no usage


@dataclass(frozen=True)
class ModelRequest:
    """One model call in the project's own types; an adapter converts it to the provider's format.

    ``on_text`` receives the answer's whole text so far while it streams; None requests an answer in
    one piece. ``cache_key`` is equal for calls whose prompts begin alike. ``output`` is the JSON
    Schema of the answer, for providers that enforce one. A ``rehearsed`` request is not sent: the
    adapter raises `RehearsedRequest`. ``meter`` measures the call. ``spare`` are parts of
    ``system`` that may be left out where it does not fit.
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
    rehearsed: bool = False
    spare: tuple[str, ...] = ()
    meter: CallMeter = field(default_factory=CallMeter, compare=False)

    @property
    def characters(self) -> int:
        """The request's size, to estimate tokens for providers that do not count them."""
        parts = (*self.messages, *self.tools)
        seen = (one for one in parts if not isinstance(one, messages.AssistantMessage | ToolSpec))
        pictures = sum(len(one.images) for one in seen)
        texts = (len(part.model_dump_json(exclude={"images"})) for part in parts)
        return len(self.system) + sum(texts) + IMAGE_CHARACTERS * pictures


@dataclass
class RehearsedRequest(Exception):  # noqa: N818 - a requested result, not a fault
    """The ``body`` that a rehearsed call would have posted; empty without a provider.

    ``tool_block`` is as in `ModelResponse`.
    """

    body: bytes
    tool_block: str = ""


@dataclass(frozen=True)
class ModelResponse:
    """A provider's answer; ``finish`` says why the answer ended.

    ``call_ids`` identify the call for the broker that counted it; empty without a broker.
    ``tool_block`` is the text at the head of the system prompt when tools were offered as text.
    ``degraded`` lists what the call had to do without.
    """

    message: messages.AssistantMessage
    usage: messages.Usage = field(default_factory=messages.Usage)
    finish: Finish = "done"
    model: str = ""
    request_id: str = ""
    call_ids: tuple[str, ...] = ()
    tool_block: str = ""
    degraded: tuple[Degradation, ...] = ()


class Model(Protocol):
    """One provider's model."""

    @property
    def name(self) -> str:
        """``provider/model``, for logs, the journal and prices."""

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Make one call.

        Raises:
            RetryableModelError: trying again may help.
            FatalModelError: trying again will not help.
        """

    async def aclose(self) -> None:
        """Close connections."""


@dataclass(eq=False)
class ModelWrapper(ABC):
    """A model that wraps another one and changes its requests or answers."""

    model: Model

    @property
    def name(self) -> str:
        return self.model.name

    @abstractmethod
    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Call the wrapped model; raise its errors."""

    async def aclose(self) -> None:
        await self.model.aclose()
