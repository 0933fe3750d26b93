"""Withdraw a message of an MCP client, which its agent's node does."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from pydantic import JsonValue

from orchestrator.control.camel_model import CamelModel
from orchestrator.control.protocol import Ack
from orchestrator.extension import DaemonView
from orchestrator.extensions.mcp_server.mcp_channel import McpChannel
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import cancellations, inbox
from thinker.protocol.peer import Params

WITHDRAW = "mcp/withdraw"  # Withdrawal → Ack
CANCELLED = "cancelled by the client"
Act: TypeAlias = Callable[[str, str, JsonValue], Awaitable[Params]]


class Withdrawal(CamelModel):
    """A message of a client; its request also has the agent or the turn, for the way there."""

    message_id: str


async def withdraw_message(daemon: DaemonView, params: JsonValue) -> Ack:
    """Cancel a message, and the turn that answers it."""
    wanted = Withdrawal.model_validate(params)
    now = daemon.machine.clock()
    ended = await daemon.store.transact(_cancel_message, wanted.message_id, now)
    daemon.operations.dispatcher.stop_turns(ended)
    daemon.approvals.wake()
    daemon.delivery.wake()
    return Ack()


def _cancel_message(db: Database, message_id: str, now: int) -> list[str]:
    """Cancel a waiting or running message; return the cancelled turns."""
    row = inbox.find_message_by_id(db, McpChannel.name, message_id)
    if row is None:
        return []
    if row.state == "new":
        inbox.end_messages(db, "id = ? AND state = 'new'", row.id, "cancelled", CANCELLED, now)
    if row.state != "claimed":
        return []
    return cancellations.cancel_chat_work(db, row.chat_key, CANCELLED, now) or []
