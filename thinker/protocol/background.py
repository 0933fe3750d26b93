"""Wire requests outside turns: compaction, fact extraction, embeddings, model trials.

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
WORK_CANCEL = "work/cancel"  # notification: end summaries and extractions under way
MAX_EMBEDDED_TEXTS = 64  # in one request
MAX_EMBEDDED_CHARACTERS = 2000  # of one text; many models read only 512 tokens
Trial: TypeAlias = Literal["chat", "tools", "images", "schema", "embeddings"]
TRIALS: tuple[Trial, ...] = get_args(Trial)
MODEL_CALL_SECONDS = 120.0  # limit for the model call of one request
LOCAL_CALL_SECONDS = 1200.0  # as above, of a local model, which may first have to be loaded

Category: TypeAlias = Literal[  # of facts; the extraction prompt lists them
    "preference", "background", "pattern", "project", "contact", "decision"
]


class CompactionRequest(Frozen):
    """A request to summarize messages; ``summary`` covers the messages before them."""

    messages: tuple[Message, ...]
    summary: str | None = None


class ExtractionRequest(Frozen):
    """A request for facts in part of a conversation; ``known`` facts are not repeated."""

    messages: tuple[Message, ...]
    known: tuple[str, ...] = ()


class MeteredResult(Frozen):
    """The model and usage of the calls made; ``problem`` is empty if the answer is usable.

    ``call_ids`` identify the calls for the broker. Besides tokens, some calls are counted in
    ``seconds`` of transcribed sound, ``characters`` spoken, or ``pictures`` drawn.
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
    """Strings to embed; with ``keep`` the worker keeps the vectors for its tools.

    ``whole`` strings are not shortened. ``dimensions`` overrides the vector length in agents.json.
    """

    texts: Annotated[tuple[str, ...], Field(min_length=1, max_length=MAX_EMBEDDED_TEXTS)]
    keep: bool = False
    whole: bool = False
    dimensions: int | None = None


class EmbeddingResult(MeteredResult):
    """One vector per string, in order; empty if the worker keeps the vectors."""

    vectors: tuple[Vector, ...] = ()


class ModelTrialRequest(Frozen):
    """A request for one small call that shows whether the agent's model has an ability."""

    trial: Trial


class ModelTrialResult(MeteredResult):
    """The outcome of a trial; ``problem`` is the provider's reason why the model lacks the ability.

    ``note`` is additional information. A streamed answer has the seconds ``before`` its first word
    and those of the ``rest``.
    """

    note: str = ""
    before: float = 0.0
    rest: float = 0.0
