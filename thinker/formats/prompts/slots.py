"""The thirteen slots of a prompt as one typed model; any other key is an extra slot.

Each slot declares how a child's value combines with its parent's, and a later value with an earlier
one (`Merge`).
Authors may use short forms; the model holds the full form.
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

from thinker.formats.prompts.fields import Names
from thinker.formats.prompts.grammar import OutputSchemaError, parse_output_schema
from thinker.formats.prompts.plain import is_type

MAX_RETRIES = 3  # Agently's default
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
    """The ways in which a newer value of a slot combines with an older one."""

    REPLACE = "replace"  # the newer value wins
    DEEP = "deep_merge"  # mappings are merged, lists get the missing items, the rest is replaced
    PREPEND_PARENT = "prepend_parent"  # like DEEP, but the parent's items come first


class TextMessageContent(BaseModel):
    """A text part of a message."""

    type: Literal["text"]
    text: str


class AttachmentMessageContent(BaseModel):
    """Any other part of a message; its payload is the field named like its type."""

    model_config = ConfigDict(extra="allow", defer_build=True)

    type: str

    @model_validator(mode="after")
    def suffix(self) -> "AttachmentMessageContent":
        """Set a missing payload to None; the name stands in the places of pydantic's errors."""
        if self.type not in self.model_fields_set:
            setattr(self, self.type, None)
        return self


MessageContent: TypeAlias = TextMessageContent | AttachmentMessageContent
CONTENT: TypeAdapter[MessageContent] = TypeAdapter(
    Annotated[MessageContent, Field(union_mode="left_to_right")]
)


class ChatMessage(BaseModel):
    """A message of the conversation so far."""

    model_config = ConfigDict(extra="allow", defer_build=True)

    role: str = "user"
    content: str | list[dict[str, object] | MessageContent]


class SlotTool(BaseModel):
    """A tool as the prompt describes it: arguments and result in the output grammar."""

    name: str
    desc: str
    arguments: dict[str, object] = Field(validation_alias=AliasChoices("kwargs"))
    returns: object = None


def wrap_in_list(value: object) -> list[object]:
    """Return a list unchanged, None as an empty list, and any other value as the only item."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _parse_history(value: object) -> list[ChatMessage]:
    whole = (dict, ChatMessage)
    items = (x if isinstance(x, whole) else {"content": str(x)} for x in wrap_in_list(value))
    return list(map(ChatMessage.model_validate, items))


def _parse_attachments(value: object) -> list[MessageContent]:
    whole = (dict, TextMessageContent, AttachmentMessageContent)
    items = wrap_in_list(value)
    items = [x if isinstance(x, whole) else {"type": "text", "text": str(x)} for x in items]
    return list(map(CONTENT.validate_python, items))


def _require_readable_output(output: object) -> object:
    """Return ``output`` after checking that the grammar can read it."""
    try:
        parse_output_schema(output)
    except OutputSchemaError as error:
        raise PydanticCustomError("output_type", "{problem}", {"problem": str(error)}) from error
    return output


class Options(BaseModel):
    """Options for requesting an answer; other keys are for the model provider.

    ``ensure_keys`` are paths (``items[*].name``) that a structured answer must contain.
    """

    model_config = ConfigDict(extra="allow", defer_build=True)

    ensure_keys: Names = ()
    max_retries: Annotated[int, Field(ge=0, le=MAX_RETRIES_LIMIT)] = MAX_RETRIES


class SlotPrompt(BaseModel):
    """A prompt written as slots, with every value in its full form.

    Without ``output_format``, a mapping or sequence as ``output`` means ``json``, ``str`` means no
    structure, another class a JSON object of ``value`` and ``reply``, and anything else
    ``markdown``.

    Raises:
        ValidationError: A message has no content, an attachment no type, or a tool no name.
    """

    model_config = ConfigDict(extra="allow", defer_build=True)

    system: Annotated[object, Merge.REPLACE] = None
    developer: Annotated[object, Merge.REPLACE] = None
    chat_history: Annotated[
        list[ChatMessage], PlainValidator(_parse_history), Merge.PREPEND_PARENT
    ] = []
    info: Annotated[object, Merge.DEEP] = None
    tools: Annotated[list[SlotTool] | None, Merge.DEEP] = None
    action_results: Annotated[object, Merge.DEEP] = None
    instruct: Annotated[object, Merge.DEEP] = None
    examples: Annotated[object, Merge.DEEP] = None
    input: Annotated[object, Merge.REPLACE] = None
    attachment: Annotated[list[MessageContent], PlainValidator(_parse_attachments), Merge.DEEP] = []
    output: Annotated[object, AfterValidator(_require_readable_output), Merge.DEEP] = None
    output_format: Annotated[object, Merge.REPLACE] = None
    options: Annotated[Options, Merge.DEEP] = Options()

    @model_validator(mode="after")
    def _normalize_output_format(self) -> "SlotPrompt":
        if self.output_format is None:
            self.output, self.output_format = normalize_output(self.output)
        self.output_format = str(self.output_format)
        return self

    @property
    def extra_slots(self) -> dict[str, object]:
        """The slots besides the thirteen, in the order in which they were set."""
        return self.model_extra or {}


def normalize_output(output: object) -> tuple[object, str]:
    """Return the output in the form that prompts show, and its format."""
    if isinstance(output, Mapping | Sequence) and not isinstance(output, str):
        return output, "json"
    if output is str:
        return None, "markdown"
    if is_type(output) and isinstance(output, type):
        return {"value": (output,), "reply": (str, "Reply according the result value")}, "json"
    return output, "markdown"


def find_merge_policy(slot: str) -> Merge:
    """Return the merge policy of a slot; extra slots are merged."""
    field = SlotPrompt.model_fields.get(slot)
    declared = field.metadata if field else []
    return next((item for item in declared if isinstance(item, Merge)), Merge.DEEP)
