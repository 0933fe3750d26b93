"""The chat in which an agent's operator hears of it."""

import structlog

from orchestrator.agentsfile import AgentDefinition
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import pauses
from orchestrator.journal.turns.outbox import Address

log = structlog.get_logger()


def find_operator_chat(db: Database, agent: AgentDefinition) -> Address | None:
    """Return the chat that costControls of the agent names; None without a chat to write to."""
    controls = agent.cost_controls
    if controls is None or controls.notify_channel is None or controls.notify_chat_id is None:
        return None
    place = (controls.notify_channel, controls.notify_chat_id)
    address = pauses.find_notice_address(db, agent.agent_id, *place)
    if address is None:
        log.warning("notify_chat_unreachable", agent_id=agent.agent_id, channel=place[0])
    return address
