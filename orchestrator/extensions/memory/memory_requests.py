"""Requests of the memory to a worker: summarize part of a session, extract facts from it."""

from typing import Annotated, Literal

from pydantic import Field

from thinker.protocol.background import Category, MeteredResult
from thinker.protocol.messages import Frozen, Message

SESSION_COMPACT = "session/compact"
FACTS_EXTRACT = "facts/extract"
MAX_NOTE = 200  # characters
MAX_LABEL = 60  # characters of a subject or a slot


class SaidMessage(Frozen):
    """A message with its id in the journal and its time in milliseconds since the Unix epoch.

    ``sender`` is the name of its author in a chat of several people.
    """

    id: int
    at: int
    message: Message
    sender: str = ""


class CompactionRequest(Frozen):
    """A request to summarize messages; ``summary`` covers the messages before them."""

    messages: tuple[SaidMessage, ...]
    summary: str | None = None


class CompactionResult(MeteredResult):
    """The new summary; empty if there is a problem."""

    summary: str = ""


class KnownFact(Frozen):
    """A fact or a note in the memory; ``since`` is when it began, in milliseconds."""

    id: int
    fact: str
    subject: str = ""
    slot: str = ""
    since: int | None = None


class ExtractionRequest(Frozen):
    """A request for what part of a conversation adds to the ``known`` facts and ``notes``."""

    messages: tuple[SaidMessage, ...]
    known: tuple[KnownFact, ...] = ()
    notes: tuple[KnownFact, ...] = ()


class ExtractedFact(Frozen):
    """One sentence about the user, or a change of a known fact; ``confidence`` is from 0 to 1.

    ``target`` is the id of the known fact that is replaced, ended or confirmed; the sentence may
    then be empty, unless it replaces. ``since`` is when it began to be true (milliseconds), and
    ``said_in`` the id of the message that says it, if the answer names them. ``subject`` and
    ``slot`` name what can have one value at a time: ``user``, ``home city``.
    """

    fact: Annotated[str, Field(max_length=500)] = ""
    category: Category = "background"
    confidence: Annotated[float, Field(ge=0, le=1)]
    change: Literal["add", "replace", "end", "same"] = "add"
    target: int | None = None
    subject: Annotated[str, Field(max_length=MAX_LABEL)] = ""
    slot: Annotated[str, Field(max_length=MAX_LABEL)] = ""
    since: int | None = None
    said_in: int | None = None


class ExtractedNote(Frozen):
    """A line about what a conversation was about; ``day`` is the start of its day, if named."""

    text: Annotated[str, Field(min_length=1, max_length=MAX_NOTE)]
    day: int | None = None


class ExtractionResult(MeteredResult):
    """What is worth keeping."""

    facts: tuple[ExtractedFact, ...] = ()
    notes: tuple[ExtractedNote, ...] = ()
