"""What facts mean, as vectors, and which of them are nearest to a question."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from heapq import nsmallest

import apsw

from thinker.protocol.vectors import RELEVANT, WIDTH, cosines, signs

NEWEST = 5000  # facts that are looked at
COMPARED = 100  # of those: the ones whose vectors are compared number by number (40 µs each)


@dataclass(frozen=True)
class Embedding:
    """What a text means to a model: vectors of others cannot be compared with it."""

    model: str
    vector: bytes


def nearest(
    db: apsw.Connection, agent_id: str, meaning: Embedding, limit: int, until: int
) -> dict[int, float]:
    """The facts known at a time (milliseconds) that mean nearly the same, and how near they are.

    ``1 / (1 + distance)``, as annabelle.md §8 has it, of those that are relevant at all.
    """
    rows = db.execute(
        "SELECT fact_id, signs FROM fact_vector"
        " WHERE agent_id = ? AND model = ? AND dimensions = ? ORDER BY fact_id DESC LIMIT ?",
        (agent_id, meaning.model, len(meaning.vector) // WIDTH, NEWEST),
    )
    asked = int.from_bytes(signs(meaning.vector))
    alike = nsmallest(COMPARED, rows, key=lambda row: (asked ^ int.from_bytes(row[1])).bit_count())
    vectors = [
        row
        for number, _ in alike
        for row in db.execute(
            "SELECT id, vector FROM fact_vector JOIN fact ON id = fact_id"
            " WHERE fact_id = ? AND created_at <= ?",
            (number, until),
        )
    ]
    found = cosines(meaning.vector, vectors)
    best = sorted(found.items(), key=lambda item: (-item[1], item[0]))[:limit]
    return {number: 1 / (1 + _distance(near)) for number, near in best if near >= RELEVANT}


def discard(db: apsw.Connection, agent_id: str, meaning: Embedding) -> None:
    """Forget an agent's vectors that cannot be compared with the ones that its model makes now."""
    db.execute(
        "DELETE FROM fact_vector WHERE agent_id = ? AND (model <> ? OR dimensions <> ?)",
        (agent_id, meaning.model, len(meaning.vector) // WIDTH),
    )


def lacking(db: apsw.Connection, agent_id: str, limit: int) -> list[tuple[int, str]]:
    """Facts (ids and texts) without a vector, newest first."""
    ((facts, vectors),) = db.execute(  # far quicker than to look for one when there is none
        "SELECT (SELECT count(*) FROM fact WHERE agent_id = ?1),"
        " (SELECT count(*) FROM fact_vector WHERE agent_id = ?1)",
        (agent_id,),
    )
    if facts == vectors:
        return []
    rows = db.execute(
        "SELECT id, fact FROM fact WHERE agent_id = ?"
        " AND NOT EXISTS(SELECT 1 FROM fact_vector WHERE fact_id = fact.id)"
        " ORDER BY id DESC LIMIT ?",
        (agent_id, limit),
    )
    return [(int(number), str(fact)) for number, fact in rows]


def keep(
    db: apsw.Connection, agent_id: str, model: str, found: Iterable[tuple[int, str, bytes]]
) -> None:
    """Keep vectors of facts (id, text, vector); one that says something else by now has none."""
    db.executemany(
        "INSERT OR REPLACE INTO fact_vector(fact_id, agent_id, model, dimensions, signs, vector)"
        " SELECT id, agent_id, ?, ?, ?, ? FROM fact WHERE agent_id = ? AND id = ? AND fact = ?",
        (
            (model, len(vector) // WIDTH, signs(vector), vector, agent_id, number, fact)
            for number, fact, vector in found
        ),
    )


def _distance(cosine: float) -> float:
    """Between two vectors of length one."""
    return math.sqrt(max(0.0, 2 - 2 * cosine))
