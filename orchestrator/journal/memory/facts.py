"""Facts that an agent remembers about its user: statements with a time and a source.

A fact is open until it is closed; only open ones are searched, listed and in prompts.
"""

from dataclasses import dataclass
from functools import partial
from typing import get_args

from orchestrator.journal.db.database import Database, Rows
from orchestrator.journal.db.dialect import FACTS as SEARCHED
from orchestrator.journal.db.dialect import Index, get_dialect
from orchestrator.journal.memory import fact_vectors, fulltext
from orchestrator.journal.memory.fact_vectors import Embedding
from orchestrator.journal.memory.memory_scope import MemoryScope
from thinker.protocol.background import Category
from thinker.protocol.messages import Origin

CATEGORIES: tuple[str, ...] = get_args(Category)
FOREVER = 2**63 - 1  # the last millisecond that SQLite can hold
NOTE = "note"  # the category of what a conversation was about, which no model chooses
FORGOTTEN = "forgotten"  # begins who ended a fact that is shown nowhere
# Facts as they were at a time, which is given twice: a later change has not ended them yet.
OPEN = f"(valid_to IS NULL OR valid_to > ? OR updated_at > ? AND ended_by NOT LIKE '{FORGOTTEN}%')"


@dataclass(frozen=True)
class Fact:
    """A sentence about the user; ``confidence`` from 0 to 1, times in milliseconds.

    ``source`` is what stored it: ``turn`` with a turn's id, or another part of the system;
    ``origin`` is whose words it has, ``said_in`` the message that says it. It is true from
    ``valid_from`` to ``valid_to``; None: unknown, and open. ``ended_by``: ``fact`` with the number
    that replaced it, or who ended it. Facts of one ``subject`` and ``slot``, such as ``user`` and
    ``home city``, tell the same about the same.
    """

    id: int
    fact: str
    category: str
    source: str
    confidence: float
    created_at: int
    updated_at: int
    origin: Origin = "user"
    said_in: int | None = None
    valid_from: int | None = None
    valid_to: int | None = None
    ended_by: str | None = None
    subject: str = ""
    slot: str = ""


FACTS = Rows(Fact, "fact")


def find_fact(
    db: Database, scope: MemoryScope, fact_id: int, *, forgotten: bool = False
) -> Fact | None:
    """Return a fact, open or closed; a forgotten one only if asked for."""
    where, values = scope.build_fact_condition()
    if not forgotten:
        where += f" AND ifnull(ended_by, '') NOT LIKE '{FORGOTTEN}%'"
    return FACTS.find_first(db, f"{where} AND id = ?", *values, fact_id)


def list_newest_facts(
    db: Database,
    scope: MemoryScope,
    category: str | None,
    before: int,
    limit: int,
    until: int = FOREVER,
) -> list[Fact]:
    """Return the open facts with ids below ``before``, newest first.

    ``category`` None means all without notes. ``until`` is the time in milliseconds.
    """
    where, values = scope.build_fact_condition()
    where += f" AND {OPEN} AND id < ? AND ifnull(category = ?, category <> '{NOTE}')"
    where += " ORDER BY id DESC LIMIT ?"
    return FACTS.select(db, where, *values, until, until, before, category, limit)


def search_facts(
    db: Database,
    scope: MemoryScope,
    text: str,
    limit: int,
    until: int = FOREVER,
    meaning: Embedding | None = None,
) -> list[Fact]:
    """Return the open facts that match ``text`` best, best first; of equal ones the newest.

    Facts are those known at ``until`` (milliseconds). ``meaning`` is the embedding of the
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


def _match_facts(
    db: Database,
    scope: MemoryScope,
    bounds: tuple[int, int],
    index: Index,
    terms: list[str],
) -> fulltext.Scores:
    """Return the facts with one of the terms and their scores."""
    (where, values), (until, limit) = scope.build_fact_condition("fact"), bounds
    where += f" AND fact.created_at <= ? AND {OPEN}"
    times = (until,) * 3
    return get_dialect(db).rank_rows(db, SEARCHED, index, terms, where, (*values, *times), limit)


def _scan_facts(
    db: Database, scope: MemoryScope, bounds: tuple[int, int], terms: list[str]
) -> fulltext.Scores:
    """Return the facts that contain a term anywhere, with the number of terms."""
    count = " + ".join(["iif(instr(fact, ?) > 0, 1, 0)"] * len(terms))
    where, values = scope.build_fact_condition()
    sql = (
        f"SELECT id, hits FROM (SELECT id, {count} AS hits FROM fact"
        f" WHERE {where} AND created_at <= ? AND {OPEN}) AS counted"
        " WHERE hits > 0 ORDER BY hits DESC, id DESC LIMIT ?"
    )
    until, limit = bounds
    return dict(db.execute(sql, (*terms, *values, until, until, until, limit)))
