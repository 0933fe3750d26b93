"""Requests of the wire that belong to no turn: compaction, fact extraction, embeddings.

The supervisor decides when, sends all that is needed and writes down what comes back; the worker
asks its model once. ``problem`` says why a model's answer could not be used: it was paid for all
the same, so ``usage`` counts.
"""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from thinker.protocol.messages import Frozen, Message, Usage
from thinker.protocol.vectors import Vector

SESSION_COMPACT = "session/compact"
FACTS_EXTRACT = "facts/extract"
TEXTS_EMBED = "texts/embed"
EMBEDDED = 64  # texts of one request at most
LONGEST = 2000  # characters of such a text that count: many models see no more than 512 tokens
ASK_SECONDS = 120.0  # that a worker gives its model for one of these

Category: TypeAlias = Literal[  # of facts; seed 002, "Fact Extraction Prompt"
    "preference", "background", "pattern", "project", "contact", "decision"
]


class Compact(Frozen):
    """Older messages of a session, and the summary of those before them."""

    messages: tuple[Message, ...]
    summary: str | None = None


class Extract(Frozen):
    """A stretch of a conversation, and facts that are known already."""

    messages: tuple[Message, ...]
    known: tuple[str, ...] = ()


class MeteredResult(Frozen):
    """What a model call took, and what was wrong with its answer, if anything."""

    model: str
    usage: Usage
    problem: str = ""


class Compacted(MeteredResult):
    """The new summary; empty when there is a problem."""

    summary: str = ""


class ExtractedFact(Frozen):
    """One sentence about the user; ``confidence`` from 0 to 1."""

    fact: Annotated[str, Field(min_length=1, max_length=500)]
    category: Category
    confidence: Annotated[float, Field(ge=0, le=1)]


class Extracted(MeteredResult):
    """The facts that are worth keeping."""

    facts: tuple[ExtractedFact, ...] = ()


class Embed(Frozen):
    """Texts whose meaning is wanted; ``keep`` leaves the vectors with the worker, for its tools."""

    texts: Annotated[tuple[str, ...], Field(min_length=1, max_length=EMBEDDED)]
    keep: bool = False


class Embedded(MeteredResult):
    """A vector for each text; none when the worker keeps them."""

    vectors: tuple[Vector, ...] = ()
