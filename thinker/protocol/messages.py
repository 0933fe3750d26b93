"""Conversation messages, as the wire and the journal hold them.

Every type is frozen and ignores unknown fields: a turn that one version recorded may be resumed by
another, so a field added later must not make a journal unreadable.
"""

from enum import StrEnum
from typing import Annotated, Literal, TypeAlias, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    TypeAdapter,
    ValidationInfo,
    field_validator,
)

from thinker.protocol.fencing import fence_text
from thinker.protocol.visible_text import clean_name

JsonObject: TypeAlias = dict[str, JsonValue]
LATE = ConfigDict(defer_build=True)  # made when first used: no process uses all that it imports
OBJECT: TypeAdapter[JsonObject] = TypeAdapter(JsonObject, config=LATE)

# Who wrote a text: the operator or this program; the chat's own user; another person, also in what
# the user forwards; a tool; a page of the web.
Origin: TypeAlias = Literal["operator", "user", "other_user", "tool", "web"]
ORIGINS: tuple[Origin, ...] = ("operator", "user", "other_user", "tool", "web")  # best first
# A message that arrives while an answer is written waits, joins the turn, or ends the turn.
WhileBusy: TypeAlias = Literal["queue", "steer", "interrupt"]
UNTRUSTED: frozenset[Origin] = frozenset(("other_user", "tool", "web"))
MAX_QUOTE = 2_000  # characters of a message that another one answers
MAX_FORWARD = 20_000  # characters of a message that another one passes on
MAX_AUTHOR = 64  # characters of a name
QUOTE_HEADS = {
    "reply": "[in reply to what {whose} wrote]",
    "forward": "[passing on what {whose} wrote]",
    "correction": "[this corrects an earlier message, which said]",
}
MAX_DEPTH = 64  # levels of JSON from outside; pydantic reads at most 200
RESULT_LIMIT = 30_000  # characters of a tool result shown to the model; the journal keeps it whole
MAX_SCHEMA_OBJECTS = 1000  # in a JSON Schema; checking one takes half a millisecond


class Frozen(BaseModel):
    """Base of everything written to the wire or the journal."""

    model_config = ConfigDict(
        frozen=True, extra="ignore", defer_build=True, cache_strings="keys"
    )  # caching values, too, would use more memory with every message


def is_too_deep(value: JsonValue, levels: int = MAX_DEPTH) -> bool:
    """Return whether a value nests deeper than ``levels``, so that it could not be read back."""
    if not isinstance(value, dict | list):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(is_too_deep(item, levels - 1) for item in inner)


def find_least_trusted(*origins: Origin) -> Origin:
    """Return the least trusted origin, which is that of text made from text of all these."""
    return max(origins, key=ORIGINS.index, default="operator")


def has_too_many_objects(value: JsonValue, objects: int) -> bool:
    """Return whether a value contains more than ``objects`` objects, including itself."""
    waiting = [value]
    while waiting and objects >= 0:
        found = waiting.pop()
        objects -= isinstance(found, dict)
        if isinstance(found, dict | list):
            waiting += found.values() if isinstance(found, dict) else found
    return objects < 0


def count_values(json: JsonValue) -> int:
    """Return the number of values in JSON, including itself; reading takes a microsecond each."""
    count, waiting = 0, [json]
    while waiting:
        found = waiting.pop()
        count += 1
        if isinstance(found, dict | list):
            waiting += found.values() if isinstance(found, dict) else found
    return count


def _is_empty(value: object) -> bool:
    return not value


class SideEffect(StrEnum):
    """The effect of running a tool a second time; decides how a crashed call is recovered."""

    PURE = "pure"
    LOCAL_TX = "local_tx"
    KEYED = "keyed"
    VERIFIABLE = "verifiable"
    NON_IDEMPOTENT = "non_idempotent"


class Image(Frozen):
    """A picture: base64 ``data`` and its media type (``image/png``).

    In the journal ``ref``, the SHA-256 of the bytes, replaces the data. If the data is missing, the
    model reads ``about`` (``photo, 1280x960``) instead.
    """

    media_type: str
    data: str = ""
    ref: str = ""
    about: str = ""


class AttachedFile(Frozen):
    """A file that came with a message: ``[file-3fa9c0: notes.txt, text/plain, 120 bytes]``.

    ``content`` is the beginning of the file's text; empty for a file without text. With a ``fence``
    the model reads the content as data.
    """

    about: str
    content: str = ""
    fence: str = ""

    @property
    def text(self) -> str:
        """The text sent to the model."""
        content = fence_text(self.content, self.fence, "a file") if self.fence else self.content
        return f"[{self.about}]\n{content}" if self.content else f"[{self.about}]"


class FileContent(Frozen):
    """A file as a tool's result: base64 ``data`` and its name."""

    name: str
    media_type: str
    data: str


class ToolCall(Frozen):
    """A model's request to run a tool.

    If the arguments are not a JSON object and cannot be repaired, ``malformed`` holds them as
    written and ``arguments`` is empty. ``repaired`` says whether their JSON had to be repaired.
    ``extras`` are other fields of the call, which go back with it as `Extras` do.
    """

    id: str
    name: str
    arguments: JsonObject = {}
    malformed: str | None = None
    repaired: bool = False
    extras: JsonObject = Field(default={}, exclude_if=_is_empty)


class Extras(Frozen):
    """What else came with an answer, such as signed reasoning, as the provider sent it.

    Only the adapter that stored the ``fields`` reads them. They go back to their ``origin``, a
    provider with its host and model, and to no other.
    """

    origin: str
    fields: JsonObject = {}


FROM: dict[Origin, str] = {"other_user": "another person", "tool": "a tool", "web": "the web"}


class LayerRecord(Frozen):
    """One layer of an assembled prompt, as the model saw it.

    A ``volatile`` layer may differ from turn to turn. A ``standing`` layer is not repeated: an
    earlier message, which is sent again, already contains it. A ``quoted`` layer is text of
    others; it goes into the newest user message, never into the system prompt.
    """

    name: str
    text: str
    volatile: bool = False
    standing: bool = False
    quoted: bool = False

    @property
    def tokens(self) -> int:
        """Estimated tokens: four characters each, rounded up."""
        return -(-len(self.text) // 4)


QuoteKind: TypeAlias = Literal["reply", "forward", "correction"]


class QuotedMessage(Frozen):
    """Another message that a message answers or passes on, or its own earlier wording.

    Of an answered message it is the part that the sender chose, if any. ``by`` is who wrote it, and
    ``author`` the name of another person. Text over `MAX_QUOTE` is shortened, forwarded text over
    `MAX_FORWARD`. Text of others gets a ``fence``, so that the model reads it as data.
    """

    kind: QuoteKind = "reply"
    by: Literal["agent", "sender", "other"] = "other"
    author: str = ""
    text: str = ""
    fence: str = ""

    @field_validator("text")
    @classmethod
    def _shorten_text(cls, text: str, info: ValidationInfo) -> str:
        limit = MAX_FORWARD if info.data.get("kind") == "forward" else MAX_QUOTE
        kept = text.strip()
        return kept if len(kept) <= limit else f"{kept[: limit - 1]}…"

    @field_validator("author")
    @classmethod
    def _clean_author(cls, author: str) -> str:
        return clean_name(author)[:MAX_AUTHOR]

    @property
    def is_foreign(self) -> bool:
        """Whether neither the agent nor the message's sender wrote it."""
        return self.by == "other"

    def format_quote(self) -> str:
        """Return the text sent to the model before the message."""
        whose = {"agent": "you", "sender": "the sender"}.get(self.by, FROM["other_user"])
        head = QUOTE_HEADS[self.kind].format(whose=whose)
        if self.fence:
            who = ", ".join(filter(None, (FROM["other_user"], self.author)))
            return f"{head}\n{fence_text(self.text, self.fence, who)}"
        return "\n".join([head, *(f"> {line}" for line in self.text.split("\n"))])


class UserMessage(Frozen):
    """A message from a person or a scheduled task.

    ``context`` holds the prompt layers sent before the content: the volatile layers of the cached
    prompt layout, and the quoted ones. ``quote`` is what the message answers. ``sender`` is the
    id of the author in a chat of several people, and ``sender_name`` the author's name. With a
    ``fence`` the model reads the content as data.
    """

    role: Literal["user"] = "user"
    content: str
    images: tuple[Image, ...] = ()
    context: tuple[LayerRecord, ...] = ()
    origin: Origin = "user"
    sender: str = ""
    sender_name: str = Field(default="", exclude_if=_is_empty)
    fence: str = ""
    documents: tuple[AttachedFile, ...] = ()
    quote: QuotedMessage | None = Field(default=None, exclude_if=_is_empty)

    @property
    def text(self) -> str:
        """The text sent to the model.

        It begins with the context in a ``<context>`` block; quote, content and documents follow.
        """
        content = self.content
        if self.fence:
            content = fence_text(content, self.fence, FROM.get(self.origin, self.origin))
        files = (document.text for document in self.documents)
        said = "" if self.quote is None else self.quote.format_quote()
        content = "\n\n".join(part for part in (said, content, *files) if part)
        if not self.context:
            return content
        layers = "\n\n".join(layer.text for layer in self.context)
        context = layers.replace("</context>", "&lt;/context>")  # or it would end the block
        return f"<context>\n{context}\n</context>\n\n{content}"

    @property
    def is_untrusted(self) -> bool:
        """Whether the model reads text that neither the operator nor the chat's user wrote."""
        quoted = any(layer.quoted for layer in self.context) or self.has_quoted_text
        return self.origin in UNTRUSTED or quoted

    @property
    def has_quoted_text(self) -> bool:
        """Whether the message contains text of others: a document's, or that of a quote."""
        if self.quote is not None and self.quote.fence:
            return True
        return any(document.content and document.fence for document in self.documents)


class AssistantMessage(Frozen):
    """A model's answer: text, tool calls, or both.

    An answer may repeat what its turn had read: ``origin`` is the least trusted origin of that, and
    ``private`` says whether private data was read. ``mixed`` says whether private data and text of
    others had met in the turn.
    """

    role: Literal["assistant"] = "assistant"
    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str | None = None
    extras: Extras | None = Field(default=None, exclude_if=_is_empty)
    origin: Origin = "user"
    private: bool = False
    mixed: bool = False

    @property
    def is_untrusted(self) -> bool:
        return self.origin in UNTRUSTED


class ToolResult(Frozen):
    """The outcome of one tool call, paired with it by ``call_id``.

    With a ``fence`` the model reads the content as data. ``private`` says whether the
    content is data that the tool read for the user, and not only that something was done.
    ``files`` are stored elsewhere, and the content names them.
    """

    role: Literal["tool"] = "tool"
    call_id: str
    name: str
    content: str
    is_error: bool = False
    images: tuple[Image, ...] = ()
    origin: Origin = "operator"
    private: bool = False
    fence: str = ""
    files: tuple[FileContent, ...] = Field(default=(), exclude=True)

    @property
    def text(self) -> str:
        """The text sent to the model."""
        if not self.fence:
            return self.content
        pictures = " and its pictures" if self.images else ""
        return fence_text(self.content, self.fence, f"the tool {self.name}{pictures}")

    @property
    def is_untrusted(self) -> bool:
        return self.origin in UNTRUSTED


Message: TypeAlias = Annotated[
    UserMessage | AssistantMessage | ToolResult, Field(discriminator="role")
]

Read = TypeVar("Read", bound=Message)
MESSAGE: TypeAdapter[Message] = TypeAdapter(Message, config=LATE)


def cap_result(message: Read) -> Read:
    """Return a message, with a tool result cut to `RESULT_LIMIT`; idempotent."""
    if not isinstance(message, ToolResult) or len(message.content) <= RESULT_LIMIT:
        return message
    note = f"\n[shortened: the result has {len(message.content)} characters]"
    kept = message.content[: RESULT_LIMIT - len(note)] + note
    return message.model_copy(update={"content": kept})


class ToolSpec(Frozen):
    """A tool as offered to a model; ``parameters`` is a JSON Schema object.

    A tool with ``keywords`` is on demand: a message with one of them, or the tool finder, adds it.
    """

    name: str
    description: str
    parameters: JsonObject
    side_effect: SideEffect = SideEffect.NON_IDEMPOTENT
    always: bool = False  # offered in every turn
    keywords: tuple[str, ...] = ()
    strict: bool = False  # arguments are validated without coercion
    approval: bool = False  # a person must approve each call
    fixed: JsonObject = {}  # arguments hidden from the model, which cannot set them
    handed_back: bool = False  # run by the API client: a call of it ends the turn

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def embedding_text(self) -> str:
        """Name and description, the text embedded to compare tools with messages."""
        return f"{self.name}: {self.description}"


class ToolChoice(Frozen):
    """What the model must do with its tools; ``name`` is the tool that mode ``function`` forces."""

    mode: Literal["auto", "none", "required", "function"] = "auto"
    name: str = ""

    @property
    def requires_call(self) -> bool:
        """Whether the model must call a tool before it answers."""
        return self.mode in ("required", "function")


EffortLevel: TypeAlias = Literal["off", "low", "medium", "high"]
# How much a model reasons: a level, or a budget in tokens, of which 0 is off.
Effort: TypeAlias = EffortLevel | Annotated[int, Field(ge=0, le=1_000_000)]


class Reasoning(Frozen):
    """How a model reasons before it answers.

    Where a provider accepts only one limit, ``max_tokens`` wins over ``effort``. ``exclude`` hides
    the reasoning from the record; ``include`` sends the model its own earlier reasoning again.
    """

    effort: EffortLevel | None = None
    max_tokens: int | None = None
    exclude: bool = False
    include: bool = False

    @property
    def is_recorded(self) -> bool:
        """Whether the reasoning is stored with the step."""
        return self.include or not self.exclude

    def describe_effort(self) -> str:
        """Return how much the model is to reason, such as "low" or "4096 tokens"; or nothing."""
        return (self.effort or "") if self.max_tokens is None else f"{self.max_tokens} tokens"

    def replace_effort(self, effort: Effort) -> "Reasoning":
        """Return the same with another effort."""
        budget = isinstance(effort, int)
        amount = {"effort": None if budget else effort, "max_tokens": effort if budget else None}
        return self.model_copy(update=amount)


AUTO, NO_TOOLS = ToolChoice(), ToolChoice(mode="none")


class Usage(Frozen):
    """Tokens of model calls; ``cached`` is the part of ``prompt`` that was read from a cache."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0
    cache_written: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(**{name: tokens + getattr(other, name) for name, tokens in self})

    @property
    def total(self) -> int:
        return self.prompt + self.completion
