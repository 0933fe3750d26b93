"""Wire requests outside turns: what they have in common, and embeddings.

The supervisor decides when to send one, includes everything needed, and stores the result. The
worker makes one model call. ``problem`` says why the model's answer is unusable; ``usage`` counts
either way, because the call was paid for.
"""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from thinker.protocol.messages import Frozen, Usage
from thinker.protocol.vectors import Vector

TEXTS_EMBED = "texts/embed"
WORK_CANCEL = "work/cancel"  # notification: end summaries and extractions under way
MAX_EMBEDDED_TEXTS = 64  # in one request
MAX_EMBEDDED_CHARACTERS = 2000  # of one text; many models read only 512 tokens
MODEL_CALL_SECONDS = 120.0  # limit for the model call of one request
LOCAL_CALL_SECONDS = 1200.0  # as above, of a local model, which may first have to be loaded

Category: TypeAlias = Literal[  # of facts; the extraction prompt lists them
    "preference", "background", "pattern", "project", "contact", "decision"
]


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


class EmbeddingRequest(Frozen):
    """Strings to embed; with ``keep`` the worker keeps the vectors for its tools.

    A ``question`` is what others are searched for. ``whole`` strings are sent as they are.
    ``dimensions`` overrides the vector length in agents.json.
    """

    texts: Annotated[tuple[str, ...], Field(min_length=1, max_length=MAX_EMBEDDED_TEXTS)]
    keep: bool = False
    question: bool = False
    whole: bool = False
    dimensions: int | None = None


class EmbeddingResult(MeteredResult):
    """One vector per string, in order; empty if the worker keeps the vectors."""

    vectors: tuple[Vector, ...] = ()
