"""Read the facts that an agent remembers: the newest, and those that match a text."""

from orchestrator.journal.db.database import Database
from orchestrator.journal.memory.fact_vectors import Embedding
from orchestrator.journal.memory.facts import (
    FACTS,
    FOREVER,
    NOTE,
    Fact,
    load_facts,
    rank_facts,
)
from orchestrator.journal.memory.memory_scope import MemoryScope


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
    where, values = scope.build_open_condition(until)
    where += f" AND id < ? AND ifnull(category = ?, category <> '{NOTE}') ORDER BY id DESC LIMIT ?"
    return FACTS.select(db, where, *values, before, category, limit)


def search_facts(
    db: Database,
    scope: MemoryScope,
    text: str,
    limit: int,
    until: int = FOREVER,
    meaning: Embedding | None = None,
) -> list[Fact]:
    """Return the open facts that `rank_facts` finds, best first."""
    ids = rank_facts(db, scope, text, limit, until, meaning)
    return load_facts(db, scope, ids)
