"""Requests of the memory to a worker: summarize part of a session, extract facts from it."""

from typing import Annotated

from pydantic import Field

from thinker.protocol.background import Category, MeteredResult
from thinker.protocol.messages import Frozen, Message

SESSION_COMPACT = "session/compact"
FACTS_EXTRACT = "facts/extract"


class CompactionRequest(Frozen):
    """A request to summarize messages; ``summary`` covers the messages before them."""

    messages: tuple[Message, ...]
    summary: str | None = None


class CompactionResult(MeteredResult):
    """The new summary; empty if there is a problem."""

    summary: str = ""


class ExtractionRequest(Frozen):
    """A request for facts in part of a conversation; ``known`` facts are not repeated."""

    messages: tuple[Message, ...]
    known: tuple[str, ...] = ()


class ExtractedFact(Frozen):
    """One sentence about the user; ``confidence`` is from 0 to 1."""

    fact: Annotated[str, Field(min_length=1, max_length=500)]
    category: Category
    confidence: Annotated[float, Field(ge=0, le=1)]


class ExtractionResult(MeteredResult):
    """The facts worth keeping."""

    facts: tuple[ExtractedFact, ...] = ()
