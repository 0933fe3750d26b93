"""Facts that an agent remembers about its user: statements with a time and a source.

A fact is open until it is closed; only open ones are searched, listed and in prompts.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import get_args

from orchestrator.journal.db.database import Database, Rows
from orchestrator.journal.db.dialect import Index, get_dialect
from orchestrator.journal.memory import fact_vectors, fulltext
from orchestrator.journal.memory.fact_vectors import Embedding
from orchestrator.journal.memory.memory_scope import FORGOTTEN, Condition, MemoryScope
from thinker.protocol.background import Category
from thinker.protocol.messages import Origin

CATEGORIES: tuple[str, ...] = get_args(Category)
FOREVER = 2**63 - 1  # the last millisecond that SQLite can hold
NOTE = "note"  # the category of what a conversation was about, which no model chooses
MAX_VERSIONS = 100  # of a fact, one after the other, that are followed to the current one
TRUSTED: tuple[Origin, ...] = ("operator", "user")  # whose words others' do not outdate


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


def rank_facts(
    db: Database,
    scope: MemoryScope,
    text: str,
    limit: int,
    until: int = FOREVER,
    meaning: Embedding | None = None,
    shown: Collection[int] = (),
    *,
    replaced: bool = False,
) -> list[int]:
    """Return the ids of the open facts that match ``text``, best first; of equal ones the newest.

    Facts are those known at ``until`` (milliseconds), without those that are ``shown``; with
    ``replaced``, also such that others have replaced, see `find_current_fact`. ``meaning`` is the
    embedding of the text; with it, facts with a near embedding match, too.
    """
    known = scope.build_open_condition(until, shown, replaced=replaced)
    pool = fulltext.POOL * limit
    ranked = fulltext.search_index(
        text, limit, partial(_match_facts, db, known, pool), partial(_scan_facts, db, known, pool)
    )
    if meaning is not None:
        near = fact_vectors.rank_nearest_facts(db, scope, meaning, pool, until, shown)
        ranked = fulltext.merge_scores(near, dict(ranked)) if near else ranked
    return [number for number, _ in ranked[:limit]]


def load_facts(db: Database, scope: MemoryScope, ids: Sequence[int]) -> list[Fact]:
    """Return facts in the order of their ids here."""
    if not ids:
        return []
    where, values = scope.build_fact_condition()
    found = FACTS.select(db, f"{where} AND id IN({','.join('?' * len(ids))})", *values, *ids)
    return sorted(found, key=lambda fact: ids.index(fact.id))


def find_current_fact(db: Database, scope: MemoryScope, fact: Fact, until: int) -> Fact | None:
    """Return what is known at a time instead of a fact: what replaced it, or is of its slot.

    That may be the fact itself. Words of others do not outdate what the user said.
    """
    current: Fact | None = fact
    for _ in range(MAX_VERSIONS):
        if not current or not current.valid_to or max(current.valid_to, current.updated_at) > until:
            break
        newer = (current.ended_by or "").removeprefix("fact ")
        current = find_fact(db, scope, int(newer)) if newer.isdecimal() else None
    if current is None or not current.slot:
        return current
    where, values = scope.build_open_condition(until)
    where += (
        " AND subject = ? AND slot = ? AND slot <> '' AND ifnull(valid_from, 0) <= ?"
        f" ORDER BY origin IN{TRUSTED} DESC, ifnull(valid_from, created_at) DESC, id DESC"
    )
    place = (current.subject, current.slot)
    return FACTS.find_first(db, where, *values, *place, until) or current


def _match_facts(
    db: Database, known: Condition, limit: int, index: Index, terms: list[str]
) -> fulltext.Scores:
    """Return the facts with one of the terms and their scores."""
    return get_dialect(db).rank_rows(db, "fact", index, terms, known.sql, known.values, limit)


def _scan_facts(db: Database, known: Condition, limit: int, terms: list[str]) -> fulltext.Scores:
    """Return the facts that contain a term anywhere, with the number of terms."""
    count = " + ".join(["iif(instr(fact, ?) > 0, 1, 0)"] * len(terms))
    sql = (
        f"SELECT id, hits FROM (SELECT id, {count} AS hits FROM fact WHERE {known.sql}) AS counted"
        " WHERE hits > 0 ORDER BY hits DESC, id DESC LIMIT ?"
    )
    return dict(db.execute(sql, (*terms, *known.values, limit)))
