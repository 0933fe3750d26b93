"""The one intermediate form of every prompt: a list of typed sections.

Whatever an author writes (a plain string, parts with includes, layered sections, slots) is lowered
to sections; every later step takes sections and gives sections; a layout turns them into text or
messages. A dialect is therefore a front end (``lower``) or a layout, never a second system.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from pydantic import JsonValue

from thinker.formats.prompts.slots import MAX_RETRIES, ChatMessage, MessageContent

Role = Literal["system", "developer", "user"]


@dataclass(frozen=True)
class Text:
    """Words, shown as they are."""

    text: str


@dataclass(frozen=True)
class VariablePart:
    """The value of a variable, not yet known; `bind` turns it into text."""

    name: str


@dataclass(frozen=True)
class Included:
    """All sections of another definition, until `lower` has put them here; a role is for each."""

    name: str
    role: Role | None = None


@dataclass(frozen=True)
class Bullets:
    """Rules or guardrails, one line each."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Structured:
    """Any JSON value; a layout decides how it is written."""

    value: JsonValue


@dataclass(frozen=True)
class ToolRow:
    """What a prompt says of one tool; what is not known of it is empty.

    ``arguments`` and ``returns`` are text in the output grammar (``requirement.py``).
    """

    name: str
    description: str = ""
    approval: str = ""
    arguments: str = ""
    returns: str = ""


@dataclass(frozen=True)
class ToolTable:
    """The tools that a prompt speaks of; the executable ones travel beside the prompt."""

    rows: tuple[ToolRow, ...]


@dataclass(frozen=True)
class Conversation:
    """Messages of the conversation so far, which a layout may send as messages of their own."""

    messages: tuple[ChatMessage, ...]


@dataclass(frozen=True)
class ContentParts:
    """What comes with the user's message: text, pictures, files."""

    items: tuple[MessageContent, ...]


@dataclass(frozen=True)
class Contract:
    """What the answer must look like: a schema in the output grammar, and its format.

    ``ensure_keys`` are paths that must lead somewhere; an answer that does not fit is asked for
    again at most ``max_retries`` times.
    """

    output: object
    format: str
    ensure_keys: tuple[str, ...] = ()
    max_retries: int = MAX_RETRIES


Body: TypeAlias = (
    Text
    | VariablePart
    | Included
    | Bullets
    | Structured
    | ToolTable
    | Conversation
    | ContentParts
    | Contract
)


@dataclass(frozen=True)
class Section:
    """One piece of a prompt.

    ``id`` names what it is (identity, safety, instruct, tools, base, memories …): overlays replace
    and layouts order by it. ``source`` is where it came from, for people: a definition's name, or
    a layer. ``title`` is the heading that a layout with headings writes; empty is none. ``trust``
    is ``data`` for what people or tools said. ``volatile`` sections change between turns. An
    ``attached`` section follows the one before it with nothing between them, as the parts of one
    text do.
    """

    id: str
    body: Body
    source: str
    role: Role = "system"
    title: str = ""
    trust: Literal["author", "data"] = "author"
    volatile: bool = False
    attached: bool = False
