"""Which node works for a row: the one whose share has the row's owner.

The owner is an agent. What has none is owned by its chat, by the chat's name. A subagent's turn is
owned by the subagent's queue, as it belongs to the node of the agent that began it.
"""

from orchestrator.journal.db.database import Database
from orchestrator.placement import SUBAGENTS, Share

OF_TURN = f"CASE WHEN turn.chat_key LIKE '{SUBAGENTS}%' THEN turn.chat_key ELSE turn.agent_id END"
OF_OUTBOX = (
    f"coalesce((SELECT {OF_TURN} FROM turn WHERE turn.id = outbox.turn_id), outbox.chat_key)"
)


def find_owner(db: Database, turn_id: str) -> str | None:
    """Return the owner of a turn, which may have ended; None if there is no such turn."""
    found = db.execute(f"SELECT {OF_TURN} FROM turn WHERE id = ?", (turn_id,)).get
    return None if found is None else str(found)


def is_turn_owned(db: Database, turn_id: str, share: Share | None) -> bool:
    """Return whether a share has a turn, which may have ended."""
    return share is None or str(find_owner(db, turn_id)) in share


def is_owned(owner: str, share: Share | None) -> bool:
    """Return whether a share has an owner; None has all."""
    return share is None or owner in share
