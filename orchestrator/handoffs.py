"""Which agent answers a message, where a chat may have been handed over to another one."""

import apsw

from orchestrator import router
from orchestrator.adapter import InboundMessage
from orchestrator.definitions import AgentsFile
from orchestrator.journal import handoffs


def resolve(
    db: apsw.Connection, agents: AgentsFile, message: InboundMessage, chat_key: str
) -> str | None:
    """The agent that answers a message of a chat; None refuses it.

    When the one that took the chat over cannot take messages any more, the chat goes back to the
    one that it is routed to.
    """
    usable = agents.usable()
    routed = router.resolve(agents.bindings, message, usable, agents.fallback_agent_id)
    if routed is None:
        return None
    answering = handoffs.answering(db, chat_key, routed)
    return answering if answering in usable else routed
