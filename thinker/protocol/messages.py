"""Conversation messages, as they cross the wire and stand in the journal.

Every type is frozen and ignores unknown fields: a turn recorded by one version is resumed by
the next one, so a newer field must not make an older journal unreadable.
"""

from enum import StrEnum
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter

JsonObject: TypeAlias = dict[str, JsonValue]
MAX_DEPTH = 64  # levels of JSON from outside; pydantic reads no more than 200 back


class Frozen(BaseModel):
    """Base of everything that is written to the wire or the journal."""

    model_config = ConfigDict(frozen=True, extra="ignore")


def too_deep(value: JsonValue, levels: int = MAX_DEPTH) -> bool:
    """Whether a value has so many levels that it could be stored and not be read again."""
    if not isinstance(value, dict | list):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(too_deep(item, levels - 1) for item in inner)


class SideEffect(StrEnum):
    """What running a tool twice would do (reference/reliability.md §4.4)."""

    PURE = "pure"
    LOCAL_TX = "local_tx"
    KEYED = "keyed"
    VERIFIABLE = "verifiable"
    NON_IDEMPOTENT = "non_idempotent"


class Image(Frozen):
    """A picture: base64 ``data`` and its media type (``image/png``).

    In the journal ``ref`` stands for the data (the SHA-256 of the bytes); without data a model is
    shown ``about`` (``photo, 1280x960``) in its place.
    """

    media_type: str
    data: str = ""
    ref: str = ""
    about: str = ""


class ToolCall(Frozen):
    """A model's request to run a tool.

    ``arguments`` is empty and ``malformed`` holds the text when what the model wrote was no
    JSON object and could not be repaired into one.
    """

    id: str
    name: str
    arguments: JsonObject = {}
    malformed: str | None = None


class LayerRecord(Frozen):
    """One layer of an assembled prompt, as the model saw it.

    ``volatile`` ones may differ from turn to turn; one that is ``standing`` is said by an earlier
    message, which is sent again.
    """

    name: str
    text: str
    volatile: bool = False
    standing: bool = False

    @property
    def tokens(self) -> int:
        """Estimate: four characters a token, rounded up (seed 002, suggestion 5)."""
        return -(-len(self.text) // 4)


class UserMessage(Frozen):
    """What a person (or a scheduled task) said.

    ``context`` are the layers of the prompt that were sent at its head (design §7, cached layout).
    """

    role: Literal["user"] = "user"
    content: str
    images: tuple[Image, ...] = ()
    context: tuple[LayerRecord, ...] = ()

    @property
    def text(self) -> str:
        """What a model is sent: the context, marked as such, and what was said."""
        if not self.context:
            return self.content
        layers = "\n\n".join(layer.text for layer in self.context)
        told = layers.replace("</context>", "&lt;/context>")  # or it would end the block
        return f"<context>\n{told}\n</context>\n\n{self.content}"


class AssistantMessage(Frozen):
    """What the model answered: text, tool calls, or both."""

    role: Literal["assistant"] = "assistant"
    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str | None = None


class ToolResult(Frozen):
    """The outcome of one tool call, paired with it by ``call_id``."""

    role: Literal["tool"] = "tool"
    call_id: str
    name: str
    content: str
    is_error: bool = False
    images: tuple[Image, ...] = ()


Message: TypeAlias = Annotated[
    UserMessage | AssistantMessage | ToolResult, Field(discriminator="role")
]

MESSAGE: TypeAdapter[Message] = TypeAdapter(Message)


class ToolSpec(Frozen):
    """A tool as it is offered to a model; ``parameters`` is a JSON Schema object."""

    name: str
    description: str
    parameters: JsonObject
    side_effect: SideEffect = SideEffect.NON_IDEMPOTENT
    always: bool = False  # offered whatever the user's text says
    strict: bool = False  # arguments must fit the schema as they are; nothing is coerced
    approval: bool = False  # a person must allow each call
    fixed: JsonObject = {}  # arguments that the model does not see and cannot set
    handed_back: bool = False  # whoever asked runs it: a call of it ends the turn

    @property
    def about(self) -> str:
        """What it is, in a line: the text whose meaning is compared with messages."""
        return f"{self.name}: {self.description}"


class ToolChoice(Frozen):
    """What a model has to do with its tools; ``name`` is the tool that ``function`` forces."""

    mode: Literal["auto", "none", "required", "function"] = "auto"
    name: str = ""

    @property
    def demands(self) -> bool:
        """Whether an answer without a call does not do."""
        return self.mode in ("required", "function")


class Reasoning(Frozen):
    """How a model is to think before it answers (seed 000 §6).

    ``max_tokens`` wins over ``effort`` where a provider takes only one of them. With ``exclude``
    nobody is shown what it thought; with ``include`` it is told its own thoughts again.
    """

    effort: Literal["low", "medium", "high"] | None = None
    max_tokens: int | None = None
    exclude: bool = False
    include: bool = False

    @property
    def recorded(self) -> bool:
        """Whether the thoughts are part of the step that is kept."""
        return self.include or not self.exclude


AUTO, NO_TOOLS = ToolChoice(), ToolChoice(mode="none")


class Usage(Frozen):
    """Tokens of model calls; ``cached`` is the share of ``prompt`` that was read from cache."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0
    cache_written: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            prompt=self.prompt + other.prompt,
            completion=self.completion + other.completion,
            cached=self.cached + other.cached,
            cache_written=self.cache_written + other.cache_written,
        )

    @property
    def total(self) -> int:
        """Prompt and completion tokens together."""
        return self.prompt + self.completion
