"""Compare tools with a message by embeddings of their descriptions.

Vectors are cached by the embedded text, so an unchanged description is embedded once per process.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from hashlib import sha256

from thinker.protocol.messages import ToolSpec
from thinker.protocol.vectors import compute_cosines

MAX_VECTORS = 1024  # descriptions; 6 kB each at 1536 dimensions


class ToolVectors:
    """A cache of description vectors that drops the least recently used ones."""

    def __init__(self, size: int = MAX_VECTORS) -> None:
        self._size = size
        self._vectors: OrderedDict[bytes, bytes] = OrderedDict()

    def store_vectors(self, texts: Sequence[str], vectors: Sequence[bytes]) -> None:
        for text, vector in zip(texts, vectors, strict=True):
            self._vectors[_hash_text(text)] = vector
        while len(self._vectors) > self._size:
            self._vectors.popitem(last=False)

    def compute_scores(self, tools: Iterable[ToolSpec], vector: bytes) -> dict[str, float]:
        """Return the cosines of a vector with the known vectors of tools, keyed by tool name."""
        found: dict[str, bytes] = {}
        for tool in tools:
            key = _hash_text(tool.embedding_text)
            if key in self._vectors:
                self._vectors.move_to_end(key)
                found[tool.name] = self._vectors[key]
        return compute_cosines(vector, found.items())


def _hash_text(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()
