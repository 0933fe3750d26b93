"""Facts as the memory extension stores them, and messages as it reads them."""

from orchestrator.extensions.memory import fact_changes
from orchestrator.extensions.memory.fact_changes import Statement, StoredFact
from orchestrator.extensions.memory.memory_requests import SaidMessage
from orchestrator.journal.db.database import Database
from orchestrator.journal.memory.memory_scope import MemoryScope
from thinker.protocol.messages import Message, Origin


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
