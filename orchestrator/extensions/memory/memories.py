"""The memory of all agents and its sources, for ``orchestrator memory``."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import orjson
from pydantic import JsonValue

from orchestrator.errors import UnknownNameError
from orchestrator.extensions.memory import fact_changes
from orchestrator.journal.db.database import Database, Rows
from orchestrator.journal.memory import facts
from orchestrator.journal.memory.memory_scope import MemoryScope
from thinker.protocol.messages import Origin


@dataclass(frozen=True)
class KnownFact:
    """A fact of an agent; ``scope`` is the chat it belongs to, empty for all chats.

    ``source`` is what stored it, ``origin`` whose words it has; times in milliseconds.
    """

    id: int
    agent_id: str
    scope: str
    fact: str
    category: str
    source: str
    origin: Origin
    confidence: float
    created_at: int
    updated_at: int


class ProfileField(NamedTuple):
    """A field of a profile, with the ``source`` and time of its last change, if known."""

    agent_id: str
    scope: str
    path: str
    value: JsonValue
    source: str | None
    at: int | None


FACTS = Rows(KnownFact, "fact")


def list_stored_facts(db: Database, agent_id: str | None, scope: str | None) -> list[KnownFact]:
    """Return the facts of an agent and a chat, or of all, newest first."""
    where = "agent_id = ifnull(?, agent_id) AND scope = ifnull(?, scope) ORDER BY id DESC"
    return FACTS.select(db, where, agent_id, scope)


def search_stored_facts(
    db: Database, text: str, agent_id: str | None, scope: str | None, limit: int
) -> list[KnownFact]:
    """Return the facts that match ``text`` best, best first in each memory."""
    memories = db.execute(
        "SELECT DISTINCT agent_id, scope FROM fact WHERE agent_id = ifnull(?, agent_id)"
        " AND scope = ifnull(?, scope) ORDER BY agent_id, scope",
        (agent_id, scope),
    ).fetchall()
    found = [
        fact.id
        for agent, chat in memories
        for fact in facts.search_facts(
            db, MemoryScope(str(agent), str(chat), joined=False, shared=False), text, limit
        )
    ]
    if not found:
        return []
    by_id = {
        row.id: row for row in FACTS.select(db, f"id IN({', '.join('?' * len(found))})", *found)
    }
    return [by_id[number] for number in found]


def list_profile_fields(
    db: Database, agent_id: str | None, scope: str | None
) -> list[ProfileField]:
    """Return the fields of the profiles of an agent and a chat, or of all."""
    rows = db.execute(
        "SELECT agent_id, scope, body FROM profile WHERE agent_id = ifnull(?, agent_id)"
        " AND scope = ifnull(?, scope) ORDER BY agent_id, scope",
        (agent_id, scope),
    ).fetchall()
    return [
        ProfileField(
            str(agent), str(chat), path, value, *_find_last_change(db, str(agent), str(chat), path)
        )
        for agent, chat, body in rows
        for path, value in _walk_profile_fields(orjson.loads(str(body)))
    ]


def forget_fact(db: Database, number: int, now: int) -> None:
    """Delete one fact with its earlier versions.

    Raises:
        UnknownNameError: the number is unknown.
    """
    found = db.execute("SELECT agent_id, scope FROM fact WHERE id = ?", (number,)).fetchone()
    if found is None:
        raise UnknownNameError(f"unknown fact {number}; see: orchestrator memory list")
    scope = MemoryScope(str(found[0]), str(found[1]), joined=False, shared=False)
    fact_changes.forget_fact(db, scope, number, "operator", now, for_good=True)


def _walk_profile_fields(value: JsonValue, path: str = "") -> Iterator[tuple[str, JsonValue]]:
    """Yield the fields of a profile with their paths, as tools write them."""
    if isinstance(value, dict) and value:
        for key, below in value.items():
            yield from _walk_profile_fields(below, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value:
        for number, below in enumerate(value):
            yield from _walk_profile_fields(below, f"{path}[{number}]")
    elif path:
        yield path, value


def _find_last_change(
    db: Database, agent_id: str, scope: str, path: str
) -> tuple[str | None, int | None]:
    """Return the source and time of the last change of a field or of its parent."""
    found = db.execute(
        "SELECT source, at FROM profile_change WHERE agent_id = ?1 AND scope = ?2"
        " AND (path = ?3 OR substr(?3, 1, length(path) + 1) IN(path || '.', path || '['))"
        " ORDER BY id DESC LIMIT 1",
        (agent_id, scope, path),
    ).fetchone()
    return (None, None) if found is None else (str(found[0]), int(found[1]))
