"""Facts that an agent remembers about its user."""

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, get_args

from orchestrator.errors import OrchestratorError
from orchestrator.journal.db.database import Database, Rows
from orchestrator.journal.db.dialect import Index, get_dialect
from orchestrator.journal.memory import fact_vectors, fulltext
from orchestrator.journal.memory.fact_vectors import Embedding
from orchestrator.journal.memory.memory_scope import MemoryScope
from orchestrator.journal.memory.secret_filter import detect_secret_kind
from thinker.protocol.background import Category
from thinker.protocol.messages import UNTRUSTED, Origin

CATEGORIES: tuple[str, ...] = get_args(Category)
FOREVER = 2**63 - 1  # the last millisecond that SQLite can hold
SIMILAR = 0.6  # share of the smaller set of keywords that two similar facts have in common
MAX_COMPARED = (
    20  # facts that a new one is compared with: the best matches of a search for its text
)


class RefusedFactError(OrchestratorError):
    """The text cannot be stored as a fact."""


@dataclass(frozen=True)
class Fact:
    """A sentence about the user; ``confidence`` from 0 to 1, times in milliseconds.

    ``source`` is what stored it: ``turn`` with a turn's id, or another part of the system;
    ``origin`` is whose words it has.
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


class StoredFact(NamedTuple):
    """The result of storing a fact; ``similar`` are nearly equal facts of its category."""

    id: int
    new: bool
    similar: tuple[Fact, ...] = ()


def store_fact(
    db: Database,
    scope: MemoryScope,
    fact: str,
    category: str,
    source: str,
    now: int,
    confidence: float = 1.0,
    origin: Origin = "user",
) -> StoredFact:
    """Store a fact; a known one only gets a new update time and a better origin.

    Raises:
        RefusedFactError: the text contains a secret.
    """
    _require_no_secret(fact)
    known = _find_fact_id(db, scope, fact)
    if known is not None:
        better = None if origin in UNTRUSTED else origin
        db.execute(
            "UPDATE fact SET updated_at = ?, origin = coalesce(?, origin) WHERE id = ?",
            (now, better, known),
        )
        return StoredFact(known, new=False)
    about = fulltext.extract_keywords(fact)
    similar = tuple(
        other
        for other in search_facts(db, scope, fact, MAX_COMPARED)
        if other.category == category
        and fulltext.measure_overlap(about, fulltext.extract_keywords(other.fact)) >= SIMILAR
    )
    number = db.execute(
        "INSERT INTO fact(agent_id, scope, fact, category, source, confidence, created_at,"
        " updated_at, origin) VALUES(?,?,?,?,?,?,?,?,?) RETURNING id",
        (scope.agent_id, scope.own_scope, fact, category, source, confidence, now, now, origin),
    ).get
    return StoredFact(number, new=True, similar=similar)


def update_fact(db: Database, scope: MemoryScope, fact: Fact, now: int) -> bool:
    """Replace a fact by its id; return False if the memory does not have it.

    Raises:
        RefusedFactError: the text contains a secret, or equals another fact.
    """
    _require_no_secret(fact.fact)
    if _find_fact_id(db, scope, fact.fact) not in (None, fact.id):
        raise RefusedFactError("another fact says exactly this; delete one of the two")
    where, values = scope.build_fact_condition()
    db.execute(
        "UPDATE fact SET fact = ?, category = ?, source = ?, confidence = ?, origin = ?,"
        f" updated_at = ? WHERE {where} AND id = ?",
        (
            fact.fact,
            fact.category,
            fact.source,
            fact.confidence,
            fact.origin,
            now,
            *values,
            fact.id,
        ),
    )
    return db.changes() == 1


def delete_fact(db: Database, scope: MemoryScope, fact_id: int) -> bool:
    where, values = scope.build_fact_condition()
    db.execute(f"DELETE FROM fact WHERE {where} AND id = ?", (*values, fact_id))
    return db.changes() == 1


def find_fact(db: Database, scope: MemoryScope, fact_id: int) -> Fact | None:
    where, values = scope.build_fact_condition()
    return FACTS.find_first(db, f"{where} AND id = ?", *values, fact_id)


def list_newest_facts(
    db: Database, scope: MemoryScope, category: str | None, before: int, limit: int
) -> list[Fact]:
    """Return the facts with ids below ``before``, newest first; ``category`` None means all."""
    where, values = scope.build_fact_condition()
    where += " AND id < ? AND category = ifnull(?, category) ORDER BY id DESC LIMIT ?"
    return FACTS.select(db, where, *values, before, category, limit)


def search_facts(
    db: Database,
    scope: MemoryScope,
    text: str,
    limit: int,
    until: int = FOREVER,
    meaning: Embedding | None = None,
) -> list[Fact]:
    """Return the facts that match ``text`` best, best first.

    Facts stored after ``until`` (milliseconds) are left out. ``meaning`` is the embedding of the
    text; with it, facts with a near embedding match, too.
    """
    pool = fulltext.POOL * limit
    bounds = (until, pool)
    ranked = fulltext.search_index(
        text,
        limit,
        partial(_match_facts, db, scope, bounds),
        partial(_scan_facts, db, scope, bounds),
    )
    if meaning is not None:
        near = fact_vectors.rank_nearest_facts(db, scope, meaning, pool, until)
        ranked = fulltext.merge_scores(near, dict(ranked)) if near else ranked
    ids = [number for number, _ in ranked[:limit]]
    if not ids:
        return []
    where, values = scope.build_fact_condition()
    found = FACTS.select(db, f"{where} AND id IN({','.join('?' * len(ids))})", *values, *ids)
    return sorted(found, key=lambda fact: ids.index(fact.id))


def _require_no_secret(fact: str) -> None:
    secret = detect_secret_kind(fact)
    if secret is not None:
        raise RefusedFactError(f"this looks like {secret}; secrets are never remembered")


def _find_fact_id(db: Database, scope: MemoryScope, fact: str) -> int | None:
    where, values = scope.build_fact_condition()
    sql = f"SELECT id FROM fact WHERE {where} AND fact = ? ORDER BY scope DESC LIMIT 1"
    found = db.execute(sql, (*values, fact)).get
    return found if isinstance(found, int) else None


def _match_facts(
    db: Database,
    scope: MemoryScope,
    bounds: tuple[int, int],
    index: Index,
    terms: list[str],
) -> fulltext.Scores:
    """Return the facts with one of the terms and their scores."""
    (where, values), (until, limit) = scope.build_fact_condition("fact"), bounds
    where += " AND fact.created_at <= ?"
    return get_dialect(db).rank_facts(db, index, terms, where, (*values, until), limit)


def _scan_facts(
    db: Database, scope: MemoryScope, bounds: tuple[int, int], terms: list[str]
) -> fulltext.Scores:
    """Return the facts that contain a term anywhere, with the number of terms."""
    count = " + ".join(["iif(instr(fact, ?) > 0, 1, 0)"] * len(terms))
    where, values = scope.build_fact_condition()
    sql = (
        f"SELECT id, hits FROM (SELECT id, {count} AS hits FROM fact"
        f" WHERE {where} AND created_at <= ?) AS counted"
        " WHERE hits > 0 ORDER BY hits DESC, id LIMIT ?"
    )
    return dict(db.execute(sql, (*terms, *values, *bounds)))
