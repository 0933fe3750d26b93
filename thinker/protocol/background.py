"""Wire requests outside turns: compaction, fact extraction, embeddings, trials of a model.

The supervisor decides when to send one, includes everything needed, and stores the result. The
worker makes one model call. ``problem`` says why the model's answer is unusable; ``usage`` counts
either way, because the call was paid for.
"""

from typing import Annotated, Literal, TypeAlias, get_args

from pydantic import Field

from thinker.protocol.messages import Frozen, Message, Usage
from thinker.protocol.vectors import Vector

SESSION_COMPACT = "session/compact"
FACTS_EXTRACT = "facts/extract"
TEXTS_EMBED = "texts/embed"
MODEL_TRY = "model/try"
MAX_EMBEDDED_TEXTS = 64  # most texts in one request
MAX_EMBEDDED_CHARACTERS = 2000  # characters embedded of one text; many models read only 512 tokens
Trial: TypeAlias = Literal["chat", "tools", "images", "schema", "embeddings"]
TRIALS: tuple[Trial, ...] = get_args(Trial)
MODEL_CALL_SECONDS = 120.0  # limit for the model call of one request

Category: TypeAlias = Literal[  # of facts; the extraction prompt lists them
    "preference", "background", "pattern", "project", "contact", "decision"
]


class CompactionRequest(Frozen):
    """A request to summarize messages; ``summary`` covers those before them."""

    messages: tuple[Message, ...]
    summary: str | None = None


class ExtractionRequest(Frozen):
    """A request for facts in part of a conversation; ``known`` ones are not repeated."""

    messages: tuple[Message, ...]
    known: tuple[str, ...] = ()


class MeteredResult(Frozen):
    """The model and usage of the calls made; ``problem`` is empty if the answer is usable.

    ``call_ids`` name the calls as the broker knows them. What is not counted in tokens alone:
    ``seconds`` of sound that was heard, ``characters`` spoken, ``pictures`` drawn.
    """

    model: str
    usage: Usage
    call_ids: tuple[str, ...] = ()
    problem: str = ""
    seconds: float = 0.0
    characters: int = 0
    pictures: int = 0


class CompactionResult(MeteredResult):
    """The new summary; empty if there is a problem."""

    summary: str = ""


class ExtractedFact(Frozen):
    """One sentence about the user; ``confidence`` is from 0 to 1."""

    fact: Annotated[str, Field(min_length=1, max_length=500)]
    category: Category
    confidence: Annotated[float, Field(ge=0, le=1)]


class ExtractionResult(MeteredResult):
    """The facts worth keeping."""

    facts: tuple[ExtractedFact, ...] = ()


class EmbeddingRequest(Frozen):
    """Texts to embed; with ``keep`` the worker keeps the vectors for its tools.

    ``whole`` texts are not shortened. ``dimensions`` replaces the length of vectors in agents.json.
    """

    texts: Annotated[tuple[str, ...], Field(min_length=1, max_length=MAX_EMBEDDED_TEXTS)]
    keep: bool = False
    whole: bool = False
    dimensions: int | None = None


class EmbeddingResult(MeteredResult):
    """One vector per text, in order; empty if the worker keeps them."""

    vectors: tuple[Vector, ...] = ()


class ModelTrialRequest(Frozen):
    """A request for one small call that shows whether the agent's model can do something."""

    trial: Trial


class ModelTrialResult(MeteredResult):
    """What a trial showed; the ``problem`` says why the model cannot, in the provider's words.

    ``note`` is what else there is to know.
    """

    note: str = ""
