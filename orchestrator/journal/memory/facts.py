"""Facts that an agent remembers about its user."""

from dataclasses import dataclass
from functools import partial
from typing import get_args

import apsw

from orchestrator.errors import OrchestratorError
from orchestrator.journal.db.rows import Rows
from orchestrator.journal.memory import fact_vectors, fulltext
from orchestrator.journal.memory.fact_vectors import Embedding
from orchestrator.journal.memory.secret_filter import secret_in
from thinker.protocol.background import Category
from thinker.protocol.messages import Origin

CATEGORIES: tuple[str, ...] = get_args(Category)
FOREVER = 2**63 - 1  # the last millisecond that SQLite can hold
SIMILAR = 0.6  # share of the smaller set of keywords that two similar facts have in common
COMPARED = 20  # facts that a new one is compared with: the best matches of a search for its text


class RefusedFactError(OrchestratorError):
    """The text cannot be stored as a fact."""


@dataclass(frozen=True)
class Fact:
    """A sentence about the user; ``confidence`` from 0 to 1, times in milliseconds.

    ``source`` is what stored it: ``turn`` with a turn's id, or another part of the system;
    ``origin`` is who said it.
    """

    id: int
    fact: str
    category: str
    source: str
    confidence: float
    created_at: int
    updated_at: int
    origin: Origin = "user"


FACTS = Rows(Fact, "fact")


@dataclass(frozen=True)
class StoredFact:
    """The result of storing a fact; ``similar`` are nearly equal facts of its category."""

    id: int
    new: bool
    similar: tuple[Fact, ...] = ()


def store(
    db: apsw.Connection,
    agent_id: str,
    fact: str,
    category: str,
    source: str,
    now: int,
    confidence: float = 1.0,
) -> StoredFact:
    """Store a fact; for a known one only the time of its update changes.

    Raises:
        RefusedFactError: the text contains a secret.
    """
    _check(fact)
    known = _id_of(db, agent_id, fact)
    if known is not None:
        db.execute("UPDATE fact SET updated_at = ? WHERE id = ?", (now, known))
        return StoredFact(known, new=False)
    about = fulltext.keywords(fact)
    similar = tuple(
        other
        for other in find(db, agent_id, fact, COMPARED)
        if other.category == category
        and fulltext.overlap(about, fulltext.keywords(other.fact)) >= SIMILAR
    )
    db.execute(
        "INSERT INTO fact(agent_id, fact, category, source, confidence, created_at, updated_at)"
        " VALUES(?,?,?,?,?,?,?)",
        (agent_id, fact, category, source, confidence, now, now),
    )
    return StoredFact(db.last_insert_rowid(), new=True, similar=similar)


def update(db: apsw.Connection, agent_id: str, fact: Fact, now: int) -> bool:
    """Replace a fact, found by its id; return False if the agent has none of that id.

    Raises:
        RefusedFactError: the text contains a secret, or is that of another fact.
    """
    _check(fact.fact)
    if _id_of(db, agent_id, fact.fact) not in (None, fact.id):
        raise RefusedFactError("another fact says exactly this; delete one of the two")
    db.execute(
        "UPDATE fact SET fact = ?, category = ?, source = ?, confidence = ?, updated_at = ?"
        " WHERE agent_id = ? AND id = ?",
        (fact.fact, fact.category, fact.source, fact.confidence, now, agent_id, fact.id),
    )
    return db.changes() == 1


def delete(db: apsw.Connection, agent_id: str, fact_id: int) -> bool:
    db.execute("DELETE FROM fact WHERE agent_id = ? AND id = ?", (agent_id, fact_id))
    return db.changes() == 1


def get(db: apsw.Connection, agent_id: str, fact_id: int) -> Fact | None:
    return FACTS.first(db, "agent_id = ? AND id = ?", agent_id, fact_id)


def newest(
    db: apsw.Connection, agent_id: str, category: str | None, before: int, limit: int
) -> list[Fact]:
    """Return the facts with ids below ``before``, newest first; ``category`` None means all."""
    where = "agent_id = ? AND id < ? AND category = ifnull(?, category) ORDER BY id DESC LIMIT ?"
    return FACTS.select(db, where, agent_id, before, category, limit)


def find(
    db: apsw.Connection,
    agent_id: str,
    text: str,
    limit: int,
    until: int = FOREVER,
    meaning: Embedding | None = None,
) -> list[Fact]:
    """Return the facts that match a text best, best first.

    Facts stored after ``until`` (milliseconds) are left out. ``meaning`` is the embedding of the
    text; with it, facts with a near embedding match, too.
    """
    pool = fulltext.POOL * limit
    bounds = (until, pool)
    ranked = fulltext.search(
        text, limit, partial(_match, db, agent_id, bounds), partial(_scan, db, agent_id, bounds)
    )
    if meaning is not None:
        near = fact_vectors.nearest(db, agent_id, meaning, pool, until)
        ranked = fulltext.hybrid_rank(near, dict(ranked)) if near else ranked
    found = (get(db, agent_id, number) for number, _ in ranked[:limit])
    return [fact for fact in found if fact is not None]


def _check(fact: str) -> None:
    secret = secret_in(fact)
    if secret is not None:
        raise RefusedFactError(f"this looks like {secret}; secrets are never remembered")


def _id_of(db: apsw.Connection, agent_id: str, fact: str) -> int | None:
    found = db.execute("SELECT id FROM fact WHERE agent_id = ? AND fact = ?", (agent_id, fact)).get
    return found if isinstance(found, int) else None


def _match(
    db: apsw.Connection, agent_id: str, bounds: tuple[int, int], index: str, terms: list[str]
) -> fulltext.Scores:
    """Return the facts with one of the terms and their scores (BM25, negated: more is better)."""
    table = f"fact_{index}"
    sql = (
        f"SELECT fact.id, -bm25({table}) FROM {table} JOIN fact ON fact.id = {table}.rowid"
        f" WHERE {table} MATCH ? AND fact.agent_id = ? AND fact.created_at <= ?"
        f" ORDER BY bm25({table}), fact.id LIMIT ?"
    )
    return dict(db.execute(sql, (fulltext.any_of(terms), agent_id, *bounds)))


def _scan(
    db: apsw.Connection, agent_id: str, bounds: tuple[int, int], terms: list[str]
) -> fulltext.Scores:
    """Return the facts that contain one of the terms anywhere, and how many they contain."""
    count = " + ".join(["(instr(fact, ?) > 0)"] * len(terms))
    sql = (
        f"SELECT id, {count} AS hits FROM fact WHERE agent_id = ? AND created_at <= ? AND hits > 0"
        " ORDER BY hits DESC, id LIMIT ?"
    )
    return dict(db.execute(sql, (*terms, agent_id, *bounds)))
