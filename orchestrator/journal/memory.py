"""Memory: the facts an agent keeps about its user, and the profile."""

import re

import apsw
import orjson

from thinker.protocol.messages import JsonObject
from thinker.protocol.methods import Memory

CATEGORIES = ("preference", "background", "pattern", "project", "contact", "decision")
TERMS = 100  # of a text that are looked up: sixty thousand would hold the journal for ten seconds
FOREVER = 2**63 - 1  # the last millisecond that SQLite can hold
TRIGRAM = 3  # characters: the shortest text that a trigram index can find


def store(
    db: apsw.Connection, agent_id: str, fact: str, category: str, source: str, now: int
) -> bool:
    """Keep a fact; one that is known is touched, not doubled. True when it is new."""
    known = db.execute("SELECT 1 FROM fact WHERE agent_id = ? AND fact = ?", (agent_id, fact)).get
    db.execute(
        "INSERT INTO fact(agent_id, fact, category, source, created_at, updated_at)"
        " VALUES(?,?,?,?,?,?) ON CONFLICT(agent_id, fact) DO UPDATE SET updated_at = ?",
        (agent_id, fact, category, source, now, now, now),
    )
    return known is None


def search(
    db: apsw.Connection, agent_id: str, text: str, limit: int, until: int = FOREVER
) -> list[Memory]:
    """The facts known at a time (milliseconds) that best fit a text, best first.

    Words are looked up by their stem; where words are not separated (Chinese, Japanese) a
    trigram index finds what the first one cannot.
    """
    words = re.findall(r"\w+", text.lower())
    found = _match(db, "fact_words", agent_id, words, (until, limit))
    if len(found) < limit:
        grams = [word[i : i + TRIGRAM] for word in words for i in range(len(word) - TRIGRAM + 1)]
        wide = [gram for gram in grams if not gram.isascii()]
        found |= _match(db, "fact_grams", agent_id, wide, (until, limit))
    return list(found.values())[:limit]


def profile_prompt(db: apsw.Connection, agent_id: str) -> str | None:
    """``persona.system_prompt`` of the agent's profile, if it is set."""
    body = db.execute("SELECT body FROM profile WHERE agent_id = ?", (agent_id,)).get
    profile: JsonObject = orjson.loads(body) if isinstance(body, str) else {}
    persona = profile.get("persona")
    prompt = persona.get("system_prompt") if isinstance(persona, dict) else None
    return prompt if isinstance(prompt, str) and prompt.strip() else None


def _match(
    db: apsw.Connection, table: str, agent_id: str, terms: list[str], bounds: tuple[int, int]
) -> dict[int, Memory]:
    if not terms:
        return {}
    query = " OR ".join(f'"{term}"' for term in list(dict.fromkeys(terms))[:TERMS])
    rows = db.execute(
        f"SELECT fact.id, fact.fact, category FROM {table} JOIN fact ON fact.id = {table}.rowid"
        f" WHERE {table} MATCH ? AND fact.agent_id = ? AND fact.created_at <= ?"
        f" ORDER BY bm25({table}), fact.id LIMIT ?",
        (query, agent_id, *bounds),
    )
    return {row: Memory(fact=fact, category=category) for row, fact, category in rows}
