"""Read the facts that an agent remembers: the newest, and those that match a text."""

from orchestrator.journal.db.database import Database
from orchestrator.journal.memory import fulltext
from orchestrator.journal.memory.fact_vectors import Embedding
from orchestrator.journal.memory.facts import (
    FACTS,
    FOREVER,
    NOTE,
    Fact,
    find_current_fact,
    load_facts,
    rank_facts,
)
from orchestrator.journal.memory.memory_scope import MemoryScope
from orchestrator.journal.memory.stop_words import drop_stop_words

MAX_SLOTTED = 10  # facts that are found by their slot


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


def find_facts(
    db: Database,
    scope: MemoryScope,
    text: str,
    limit: int,
    until: int = FOREVER,
    meaning: Embedding | None = None,
) -> list[Fact]:
    """Return what `search_facts` finds, then facts whose earlier versions or slot have the words.

    "Where do I live?" finds "Moved to Berlin", which replaced "Lives in Paris", as in prompts.
    """
    found = {fact.id: fact for fact in search_facts(db, scope, text, limit, until, meaning)}
    if len(found) < limit:
        ids = rank_facts(db, scope, text, limit, until, shown=[*found], replaced=True)
        for one in [*load_facts(db, scope, ids), *_list_facts_by_slot(db, scope, text, until)]:
            fact = find_current_fact(db, scope, one, until)
            if fact is not None:
                found.setdefault(fact.id, fact)
    return [*found.values()][:limit]


def _list_facts_by_slot(db: Database, scope: MemoryScope, text: str, until: int) -> list[Fact]:
    """Return the open facts whose slot has one of the telling words, newest first."""
    wanted = {*drop_stop_words(fulltext.extract_words(text), text, negations=False)}
    where, values = scope.build_open_condition(until)
    rows = db.execute(f"SELECT id, slot FROM fact WHERE {where} AND slot <> ''", values)
    ids = [int(number) for number, slot in rows if wanted & {*fulltext.split_words(str(slot))}]
    return load_facts(db, scope, sorted(ids, reverse=True)[:MAX_SLOTTED])
