"""Embeddings of facts, and the search for the facts nearest to a query."""

import math
from collections.abc import Collection
from heapq import nsmallest
from typing import NamedTuple

from orchestrator.journal.db.database import Database
from orchestrator.journal.memory.memory_scope import MemoryScope
from thinker.protocol.vectors import RELEVANT, WIDTH, compute_cosines, compute_signs

MAX_SCREENED = 5000  # facts that are compared by the signs of their vectors
MAX_COMPARED = 100  # the most similar of those, compared by whole vectors (40 µs each)


class Embedding(NamedTuple):
    """An embedding of text; only vectors of the same model can be compared."""

    model: str
    vector: bytes


def rank_nearest_facts(
    db: Database,
    scope: MemoryScope,
    meaning: Embedding,
    limit: int,
    until: int,
    shown: Collection[int] = (),
) -> dict[int, float]:
    """Return the relevant facts nearest to an embedding, with scores.

    The score is ``1 / (1 + distance)``. Facts are those known at ``until`` (milliseconds), without
    those that are ``shown``.
    """
    where, values = scope.build_open_condition(until, shown)
    # The first table is walked through: a chat's own facts are few, of all the newest are enough.
    joined = "fact_vector CROSS JOIN fact" if scope.all_chats else "fact CROSS JOIN fact_vector"
    rows = db.execute(
        f"SELECT fact_id, signs FROM {joined}"
        f" WHERE fact.id = fact_id AND {where} AND fact_vector.agent_id = ? AND model = ?"
        " AND dimensions = ? ORDER BY fact_id DESC LIMIT ?",
        (*values, scope.agent_id, meaning.model, len(meaning.vector) // WIDTH, MAX_SCREENED),
    )
    query = int.from_bytes(compute_signs(meaning.vector))
    alike = nsmallest(
        MAX_COMPARED, rows, key=lambda row: (query ^ int.from_bytes(row[1])).bit_count()
    )
    vectors = [
        row
        for number, _ in alike
        for row in db.execute(
            "SELECT fact_id, vector FROM fact_vector WHERE fact_id = ?", (number,)
        )
    ]
    found = compute_cosines(meaning.vector, vectors)
    best = sorted(found.items(), key=lambda item: (-item[1], item[0]))[:limit]
    # For vectors of length one, the distance follows from the cosine.
    return {
        number: 1 / (1 + math.sqrt(max(0.0, 2 - 2 * near)))
        for number, near in best
        if near >= RELEVANT
    }


def delete_stale_vectors(db: Database, agent_id: str, meaning: Embedding) -> None:
    """Delete an agent's vectors of models other than its current one."""
    db.execute(
        "DELETE FROM fact_vector WHERE agent_id = ? AND (model <> ? OR dimensions <> ?)",
        (agent_id, meaning.model, len(meaning.vector) // WIDTH),
    )
