"""Which agent answers a message, where a chat may have been handed over to another one."""

import apsw

from orchestrator import router
from orchestrator.adapter import InboundMessage
from orchestrator.definitions import AgentsFile
from orchestrator.journal import handoffs


def resolve(
    db: apsw.Connection, agents: AgentsFile, message: InboundMessage, chat_key: str
) -> str | None:
    """The agent that answers a message of a chat; None refuses it."""
    usable = agents.usable()
    routed = router.resolve(agents.bindings, message, usable, agents.fallback_agent_id)
    if routed is None:
        return None
    answering = handoffs.answering(db, chat_key, routed)
    return answering if answering in usable else routed


def recover(db: apsw.Connection, agents: AgentsFile, chat_key: str, now: int) -> None:
    """A chat that was taken over by an agent that cannot take messages any more goes back.

    The agent that it is routed to gets the conversation.
    """
    usable = agents.usable()
    if any(handoff.agent_id not in usable for handoff in handoffs.in_chat(db, chat_key)):
        handoffs.take_back(db, chat_key, now)
