"""Marks of what was forgotten, so that no conversation brings it back.

Only keyed hashes are kept: of the words of a statement, and of its value under its subject and
slot, by which a paraphrase is recognized as well: "has a peanut allergy", "is allergic to peanuts".

Where: is it decided that a forgotten fact is not learned again?
"""

import hashlib
import re
import secrets
from collections.abc import Iterable
from typing import Protocol

from orchestrator.extensions.memory import fact_keywords
from orchestrator.journal.db import liveness
from orchestrator.journal.db.database import Database
from orchestrator.journal.memory import fulltext
from orchestrator.journal.memory.facts import Fact
from orchestrator.journal.memory.memory_scope import EVERY, Condition, MemoryScope

KEY = "fact_gone_key"  # of the journal, so that a digest tells nothing outside of it
UNHEARD = frozenset(("a", "an", "the", "user", "users"))  # words that make no other statement
# English words beside the value of a slot; "no" and "not" change it.
UNVALUED = re.compile(
    r"(?!nor?$|not$)(?:based|called|currently|employed|has|is|live[ds]?|living|moved|name[ds]?|now"
    rf"|reached|resides?|since|work(?:s|ed|ing)?|{fact_keywords.STOP_WORDS.pattern})"
)
STEM = 4  # characters that a word and a word of the slot have in common: "allergy", "allergic"
PLURAL = 4  # characters of the shortest word whose "s" may be that of the plural


class Worded(Protocol):
    """What says something about a subject's slot: a statement, or a stored fact."""

    @property
    def fact(self) -> str: ...
    @property
    def subject(self) -> str: ...
    @property
    def slot(self) -> str: ...


def is_forgotten(db: Database, scope: MemoryScope, stated: Worded) -> bool:
    """Return whether this was forgotten, in these words or as the same value of its slot."""
    where, values = _build_condition(scope)
    sql = f"SELECT EXISTS(SELECT 1 FROM fact_gone WHERE {where})"
    if not db.execute(sql, values).get:
        return False
    digests = _compute_digests(db, [stated])
    places = ", ".join("?" * len(digests))
    sql = f"SELECT EXISTS(SELECT 1 FROM fact_gone WHERE {where} AND digest IN({places}))"
    return bool(db.execute(sql, (*values, *digests)).get)


def mark_forgotten(db: Database, scope: MemoryScope, stated: Iterable[Fact], now: int) -> None:
    """Mark what was forgotten in the memory that held it.

    A mark belongs to the chat that told the fact, so that it goes when that is erased.
    """
    for fact in stated:
        turn = fact.source.partition(" ")[2].partition("..")[0]
        found = db.execute("SELECT scope FROM turn WHERE id = ?", (turn,)).get
        place = (scope.agent_id, scope.own_scope if found is None else str(found))
        db.executemany(
            "INSERT INTO fact_gone VALUES(?,?,?,?) ON CONFLICT DO NOTHING",
            [(*place, digest, now) for digest in _compute_digests(db, [fact])],
        )


def unmark_forgotten(db: Database, scope: MemoryScope, stated: Iterable[Worded]) -> None:
    """Remove the marks of what is stated anew, so that it can be learned."""
    where, values = _build_condition(scope)
    for digest in _compute_digests(db, [*stated]):
        db.execute(f"DELETE FROM fact_gone WHERE {where} AND digest = ?", (*values, digest))


def extract_value(stated: Worded) -> frozenset[str]:
    """Return the words of the value of a slot; empty without a slot or such words."""
    if not stated.slot:
        return frozenset()
    about = {word[:STEM] for word in fulltext.split_words(f"{stated.subject} {stated.slot}")}
    words = (
        word.removesuffix("s") if len(word) >= PLURAL else word
        for word in fulltext.split_words(stated.fact)
        if word[:STEM] not in about and not UNVALUED.fullmatch(word)
    )
    return frozenset(words)


def _build_condition(scope: MemoryScope) -> Condition:
    """Return the condition for marks of a memory; those of a shared one are of its chats."""
    shared = scope.own_scope == EVERY
    return (MemoryScope.for_whole_agent(scope.agent_id) if shared else scope).build_row_condition()


def _compute_digests(db: Database, stated: list[Worded]) -> list[str]:
    """Return keyed hashes of words, without case, signs and articles, and of values."""
    key = db.execute("SELECT v FROM meta WHERE k = ?", (KEY,)).get
    if key is None:
        key = liveness.lock_meta(db, KEY, secrets.token_hex(32))
    spoken = {
        " ".join(word for word in fulltext.split_words(one.fact) if word not in UNHEARD)
        for one in stated
    }
    spoken |= {
        "\0".join((one.subject or "user", one.slot, *sorted(value))).lower()
        for one in stated
        if (value := extract_value(one))
    }
    return [
        hashlib.blake2b(one.encode(), key=bytes.fromhex(str(key)), digest_size=16).hexdigest()
        for one in sorted(spoken)
    ]
