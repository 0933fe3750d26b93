"""The thirteen slots of seed 001 as one typed model; any other key is an extra slot.

Each slot declares what becomes of its value when a child meets a parent, or a second value a
first one (``Merge``). Whatever short form an author uses, the model holds the full one.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    TypeAdapter,
    model_validator,
)
from pydantic_core import PydanticCustomError

from thinker.formats.prompts.grammar import OutputSchemaError, read
from thinker.formats.prompts.plain import is_type

Compat: TypeAlias = Literal["4.0.7"]  # the release of Agently whose quirks are wanted


MAX_RETRIES = 3  # as many as upstream asks again by default
MAX_RETRIES_LIMIT = 10

TITLES = {
    "system": "SYSTEM",
    "developer": "DEVELOPER DIRECTIONS",
    "chat_history": "CHAT HISTORY",
    "tools": "TOOLS",
    "action_results": "ACTION RESULTS",
    "info": "INFO",
    "instruct": "INSTRUCT",
    "examples": "EXAMPLES",
    "input": "INPUT",
    "output": "OUTPUT REQUIREMENT",
}


class Merge(StrEnum):
    """What becomes of an older value when a newer one comes."""

    REPLACE = "replace"  # the newer one stands
    DEEP = "deep_merge"  # mappings are merged, lists get what they lack, the rest is replaced
    PREPEND_PARENT = "prepend_parent"  # as DEEP, but a parent's items come first, in their order


class TextMessageContent(BaseModel):
    """A part of a message that is text."""

    type: Literal["text"]
    text: str


class AttachmentMessageContent(BaseModel):
    """Any other part; what it carries stands under the name of its type."""

    model_config = ConfigDict(extra="allow")

    type: str

    @model_validator(mode="after")
    def suffix(self) -> "AttachmentMessageContent":
        """A part without anything to carry says so."""
        if self.type not in self.model_fields_set:
            setattr(self, self.type, None)
        return self


MessageContent: TypeAlias = TextMessageContent | AttachmentMessageContent
CONTENT: TypeAdapter[MessageContent] = TypeAdapter(
    Annotated[MessageContent, Field(union_mode="left_to_right")]
)


class ChatMessage(BaseModel):
    """One message of the conversation so far."""

    model_config = ConfigDict(extra="allow")

    role: str = "user"
    content: str | list[dict[str, object] | MessageContent]


class SlotTool(BaseModel):
    """A tool as a prompt speaks of it: arguments and result in the output grammar."""

    name: str
    desc: str
    arguments: dict[str, object] = Field(validation_alias=AliasChoices("kwargs"))
    returns: object = None


def listed(value: object) -> list[object]:
    """The value as a list: None is empty, anything but a list is its only item."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _history(value: object) -> list[ChatMessage]:
    return [
        item
        if isinstance(item, ChatMessage)
        else ChatMessage.model_validate(item if isinstance(item, dict) else {"content": str(item)})
        for item in listed(value)
    ]


def _attachment(value: object) -> list[MessageContent]:
    return [
        item
        if isinstance(item, TextMessageContent | AttachmentMessageContent)
        else CONTENT.validate_python(
            item if isinstance(item, dict) else {"type": "text", "text": str(item)}
        )
        for item in listed(value)
    ]


def _readable(output: object) -> object:
    try:
        read(output)
    except OutputSchemaError as error:
        raise PydanticCustomError("output_type", "{problem}", {"problem": str(error)}) from error
    return output


class Options(BaseModel):
    """How an answer is asked for; whatever else stands here is the model provider's.

    ``ensure_keys`` are places (``items[*].name``) that a structured answer must have.
    """

    model_config = ConfigDict(extra="allow")

    ensure_keys: tuple[str, ...] = ()
    max_retries: Annotated[int, Field(ge=0, le=MAX_RETRIES_LIMIT)] = MAX_RETRIES


class SlotPrompt(BaseModel):
    """A prompt written as slots, with every value in its full form.

    ``output_format`` follows from ``output`` when it is not given: a mapping or sequence is
    ``json``, ``str`` no structure at all, another class a JSON object of ``value`` and ``reply``,
    and anything else ``markdown``.

    Raises:
        ValidationError: a message without content, an attachment without type, a tool without name.
    """

    model_config = ConfigDict(extra="allow")

    system: Annotated[object, Merge.REPLACE] = None
    developer: Annotated[object, Merge.REPLACE] = None
    chat_history: Annotated[list[ChatMessage], PlainValidator(_history), Merge.PREPEND_PARENT] = []
    info: Annotated[object, Merge.DEEP] = None
    tools: Annotated[list[SlotTool] | None, Merge.DEEP] = None
    action_results: Annotated[object, Merge.DEEP] = None
    instruct: Annotated[object, Merge.DEEP] = None
    examples: Annotated[object, Merge.DEEP] = None
    input: Annotated[object, Merge.REPLACE] = None
    attachment: Annotated[list[MessageContent], PlainValidator(_attachment), Merge.DEEP] = []
    output: Annotated[object, AfterValidator(_readable), Merge.DEEP] = None
    output_format: Annotated[object, Merge.REPLACE] = None
    options: Annotated[Options, Merge.DEEP] = Options()

    @model_validator(mode="after")
    def _output_format(self) -> "SlotPrompt":
        if self.output_format is None:
            self.output, self.output_format = formatted(self.output)
        self.output_format = str(self.output_format)
        return self

    @property
    def extras(self) -> dict[str, object]:
        """The slots that are none of the thirteen, in the order in which they were set."""
        return self.model_extra or {}


def formatted(output: object) -> tuple[object, str]:
    """The output as it is asked for, and in which format (seed 001, §1)."""
    if isinstance(output, Mapping | Sequence) and not isinstance(output, str):
        return output, "json"
    if output is str:
        return None, "markdown"
    if is_type(output) and isinstance(output, type):
        return {"value": (output,), "reply": (str, "Reply according the result value")}, "json"
    return output, "markdown"


def policy(slot: str) -> Merge:
    """The declared policy of a slot; extra slots are merged."""
    field = SlotPrompt.model_fields.get(slot)
    declared = field.metadata if field else []
    return next((item for item in declared if isinstance(item, Merge)), Merge.DEEP)
