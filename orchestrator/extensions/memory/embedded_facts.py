"""Facts and their vectors: which lack one, and how one is stored."""

from collections.abc import Iterable

from orchestrator.journal.db.database import Database
from thinker.protocol.vectors import WIDTH, compute_signs


def list_facts_without_vector(db: Database, agent_id: str, limit: int) -> list[tuple[int, str]]:
    """Return facts (ids and texts) without a vector, newest first."""
    ((facts, vectors),) = db.execute(  # far faster than a search when no vector is missing
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


def store_vectors(
    db: Database, agent_id: str, model: str, found: Iterable[tuple[int, str, bytes]]
) -> None:
    """Store vectors of facts (id, text, vector), unless the text has changed."""
    db.executemany(
        "INSERT INTO fact_vector(fact_id, agent_id, model, dimensions, signs, vector)"
        " SELECT id, agent_id, ?, ?, ?, ? FROM fact WHERE agent_id = ? AND id = ? AND fact = ?"
        " ON CONFLICT(fact_id) DO UPDATE SET agent_id = excluded.agent_id, model = excluded.model,"
        " dimensions = excluded.dimensions, signs = excluded.signs, vector = excluded.vector",
        (
            (model, len(vector) // WIDTH, compute_signs(vector), vector, agent_id, number, fact)
            for number, fact, vector in found
        ),
    )
