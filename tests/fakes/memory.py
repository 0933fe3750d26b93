"""Memories of agents, as turns have them."""

from orchestrator.extensions.memory import fact_changes
from orchestrator.extensions.memory.fact_changes import Statement, StoredFact
from orchestrator.extensions.memory.memory_requests import SaidMessage
from orchestrator.journal.db.database import Database
from orchestrator.journal.memory.memory_scope import MemoryScope
from thinker.protocol.messages import Message, Origin

WORK, HOME = map(MemoryScope.for_whole_agent, ("work", "home"))  # of agents whose chats share one


def scoped(_: Database, agent_id: str, scope: str) -> MemoryScope:
    """The memory of an agent whose chats share one."""
    del scope
    return MemoryScope.for_whole_agent(agent_id)


def own_of(chat: str, *, shared: bool = False) -> MemoryScope:
    """The memory of one chat of the agent ``work``; ``shared`` as operators have it."""
    return MemoryScope("work", chat, joined=False, shared=shared)


def said_at(at: int, *messages: Message) -> tuple[SaidMessage, ...]:
    """Messages of one time (milliseconds), numbered from 1."""
    return tuple(
        SaidMessage(id=number, at=at, message=message) for number, message in enumerate(messages, 1)
    )


def store_fact(
    db: Database,
    scope: MemoryScope,
    fact: str,
    category: str = "background",
    source: str = "test",
    now: int = 1,
    origin: Origin = "user",
    valid_from: int | None = None,
) -> StoredFact:
    """Store a fact that was not forgotten."""
    statement = Statement(fact, category, source, origin=origin, valid_from=valid_from)
    stored = fact_changes.store_statement(db, scope, statement, now)
    assert stored is not None
    return stored
