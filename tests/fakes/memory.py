"""Memories of agents, as turns have them."""

from collections.abc import Mapping
from types import MappingProxyType

import orjson

from orchestrator.journal.db.database import Database
from orchestrator.journal.memory.memory_scope import MemoryScope
from orchestrator.journal.memory.playbooks import StoredPlaybook
from thinker.protocol.messages import JsonObject
from thinker.protocol.vectors import WIDTH, compute_signs

WORK, HOME = map(MemoryScope.for_whole_agent, ("work", "home"))  # of agents whose chats share one
SKILL = StoredPlaybook(
    id=0,
    name="tea",
    description="Makes tea.",
    instructions="Boil water.",
    keywords=("tea",),
    priority=0,
    required_tools=(),
    enabled=True,
    source="turn t1",
    created_at=1,
)


def scoped(_: Database, agent_id: str, scope: str) -> MemoryScope:
    """The memory of an agent whose chats share one."""
    del scope
    return MemoryScope.for_whole_agent(agent_id)


def own_of(chat: str, *, shared: bool = False) -> MemoryScope:
    """The memory of one chat of the agent ``work``; ``shared`` as operators have it."""
    return MemoryScope("work", chat, joined=False, shared=shared)


def insert_fact(
    db: Database, scope: MemoryScope, fact: str, now: int = 1, **columns: object
) -> int:
    """Insert an open fact with values of other columns, and return its id."""
    row = {
        "id": int(db.execute("SELECT max(id) FROM fact").get or 0) + 1,
        "agent_id": scope.agent_id,
        "scope": scope.own_scope,
        "fact": fact,
        "category": "background",
        "source": "test",
        "created_at": now,
        "updated_at": now,
        **columns,
    }
    names, places = ", ".join(row), ", ".join("?" * len(row))
    sql = f"INSERT INTO fact({names}) VALUES({places}) RETURNING id"
    return int(db.execute(sql, tuple(row.values())).get)


def close_fact(db: Database, fact_id: int, by: str, now: int, at: int | None = None) -> None:
    """Close a fact, from ``at`` on (default: now)."""
    db.execute(
        "UPDATE fact SET valid_to = ?, ended_by = ?, updated_at = ? WHERE id = ?",
        (now if at is None else at, by, now, fact_id),
    )


def insert_vector(db: Database, agent_id: str, fact_id: int, model: str, vector: bytes) -> None:
    """Insert the vector of a fact, which had none."""
    db.execute(
        "INSERT INTO fact_vector(fact_id, agent_id, model, dimensions, signs, vector)"
        " VALUES(?,?,?,?,?,?)",
        (fact_id, agent_id, model, len(vector) // WIDTH, compute_signs(vector), vector),
    )


def insert_profile(
    db: Database,
    scope: MemoryScope,
    fields: JsonObject,
    origins: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Insert a memory's first profile, with the origins of others' paths."""
    db.execute(
        "INSERT INTO profile(agent_id, scope, body, updated_at, origins) VALUES(?,?,?,1,?)",
        (
            scope.agent_id,
            scope.own_scope,
            orjson.dumps(fields).decode(),
            orjson.dumps(dict(origins)).decode(),
        ),
    )
