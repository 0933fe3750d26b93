"""Marks of what was forgotten, so that no conversation brings it back.

A mark is a hash of the words; the key is the journal's own, so that it tells nothing elsewhere.

Where: is a forgotten fact kept from being learned again?
"""

import hashlib
import secrets
from collections.abc import Iterable

from orchestrator.journal.db.database import Database
from orchestrator.journal.memory import fulltext
from orchestrator.journal.memory.memory_scope import EVERY, Condition, MemoryScope

KEY = "fact_gone_key"
UNHEARD = frozenset(("a", "an", "the", "user", "users"))  # words that make no other statement


def mark_gone(
    db: Database, scope: MemoryScope, source: str, texts: Iterable[str], now: int
) -> None:
    """Mark texts of a fact; the marks belong to the chat of its source, which erases them."""
    turn = source.partition(" ")[2].partition("..")[0]
    found = db.execute("SELECT scope FROM turn WHERE id = ?", (turn,)).get
    place = (scope.agent_id, scope.own_scope if found is None else str(found))
    for digest in _compute_digests(db, texts):
        db.execute(
            "INSERT INTO fact_gone VALUES(?,?,?,?) ON CONFLICT DO NOTHING", (*place, digest, now)
        )


def is_gone(db: Database, scope: MemoryScope, text: str) -> bool:
    """Return whether a text was forgotten in a memory."""
    where, values = _build_condition(scope)
    sql = f"SELECT EXISTS(SELECT 1 FROM fact_gone WHERE {where})"
    if not db.execute(sql, values).get:
        return False
    (digest,) = _compute_digests(db, [text])
    sql = f"SELECT EXISTS(SELECT 1 FROM fact_gone WHERE {where} AND digest = ?)"
    return bool(db.execute(sql, (*values, digest)).get)


def unmark_gone(db: Database, scope: MemoryScope, texts: Iterable[str]) -> None:
    """Remove the marks of texts."""
    where, values = _build_condition(scope)
    for digest in _compute_digests(db, texts):
        db.execute(f"DELETE FROM fact_gone WHERE {where} AND digest = ?", (*values, digest))


def _build_condition(scope: MemoryScope) -> Condition:
    """Return the condition for marks of a memory; those of a shared one are of its chats."""
    shared = scope.own_scope == EVERY
    return (MemoryScope.for_whole_agent(scope.agent_id) if shared else scope).build_row_condition()


def _compute_digests(db: Database, texts: Iterable[str]) -> list[str]:
    """Return keyed hashes of the words of texts, without case, signs and articles."""
    key = db.execute("SELECT v FROM meta WHERE k = ?", (KEY,)).get
    if key is None:
        key = secrets.token_hex(32)
        db.execute("INSERT INTO meta VALUES(?,?)", (KEY, key))
    named = bytes.fromhex(str(key))
    spoken = {
        " ".join(word for word in fulltext.split_words(text) if word not in UNHEARD)
        for text in texts
    }
    return [
        hashlib.blake2b(one.encode(), key=named, digest_size=16).hexdigest()
        for one in sorted(spoken)
    ]
