"""Memories of agents, as turns have them."""

from orchestrator.extensions.memory.memory_requests import SaidMessage
from orchestrator.journal.db.database import Database
from orchestrator.journal.memory.memory_scope import MemoryScope
from thinker.protocol.messages import Message

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
