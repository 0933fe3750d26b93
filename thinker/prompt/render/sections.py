"""The intermediate form of every prompt: a list of typed sections.

`lower` turns every form of definition into sections, the later steps transform sections, and a
layout turns them into text or messages.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from pydantic import JsonValue

from thinker.formats.prompts.slots import MAX_RETRIES, ChatMessage, MessageContent

Role = Literal["system", "developer", "user"]


@dataclass(frozen=True)
class Text:
    """Text that is shown as it is."""

    text: str


@dataclass(frozen=True)
class VariablePart:
    """A variable, until `bind_variables` replaces it by its value."""

    name: str


@dataclass(frozen=True)
class IncludedDefinition:
    """A definition whose sections `lower_definition` inserts, in ``role`` if set."""

    name: str
    role: Role | None = None


@dataclass(frozen=True)
class Bullets:
    """A list of lines."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Structured:
    """A JSON value, which each layout writes in its own way."""

    value: JsonValue


@dataclass(frozen=True)
class ToolRow:
    """A tool as a prompt describes it; unknown cells are empty.

    ``arguments`` and ``returns`` are text from `format_requirement`.
    """

    name: str
    description: str = ""
    approval: str = ""
    arguments: str = ""
    returns: str = ""


@dataclass(frozen=True)
class ToolTable:
    """The tools that a prompt describes; the callable tools are separate."""

    rows: tuple[ToolRow, ...]


@dataclass(frozen=True)
class Conversation:
    """The messages of the conversation so far; a layout may send them as separate messages."""

    messages: tuple[ChatMessage, ...]


@dataclass(frozen=True)
class ContentParts:
    """Attachments of the user's message: text, images, files."""

    items: tuple[MessageContent, ...]


@dataclass(frozen=True)
class Contract:
    """The required structure of the answer in the output grammar, and its format.

    ``ensure_keys`` are paths that the answer must contain. An answer that does not fit is requested
    again at most ``max_retries`` times.
    """

    output: object
    format: str
    ensure_keys: tuple[str, ...] = ()
    max_retries: int = MAX_RETRIES


Body: TypeAlias = (
    Text
    | VariablePart
    | IncludedDefinition
    | Bullets
    | Structured
    | ToolTable
    | Conversation
    | ContentParts
    | Contract
)


@dataclass(frozen=True)
class Section:
    """A piece of a prompt.

    ``id`` is the kind (identity, safety, instruct, tools …), by which overlays match. ``source`` is
    the definition that the section comes from. ``title`` is the heading in layouts with headings;
    empty means no heading. ``trust`` is ``data`` for values that authors did not write. An
    ``attached`` section follows the previous one without a separator.
    """

    id: str
    body: Body
    source: str
    role: Role = "system"
    title: str = ""
    trust: Literal["author", "data"] = "author"
    attached: bool = False
