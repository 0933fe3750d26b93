"""The channel ``mcp``: chats between MCP clients and agents."""

from typing import NamedTuple

from orchestrator.channel_api import InboundMessage
from orchestrator.channels.stored_replies import Ended, JournalChannel
from orchestrator.journal.db.database import Database
from orchestrator.journal.inspect import chat_lines
from orchestrator.journal.inspect.chat_lines import ChatLine
from orchestrator.journal.turns import inbox, outbox
from orchestrator.journal.turns.inbox import InboxRow
from orchestrator.mcp_server.mcp_caller import CHANNEL, OPERATOR


class Standing(NamedTuple):
    """How a message stands: what it is, with its answer if it has ended, and what its chat asks."""

    message: InboxRow | Ended | None
    questions: list[ChatLine]


class McpChannel(JournalChannel):
    """The `Adapter` of MCP clients. Names of chats and ids of messages begin with their owner's."""

    name = CHANNEL

    def message(self, owner: str, chat: str, message_id: str, text: str) -> InboundMessage:
        """Return a message of a client; an agent has to be added."""
        return InboundMessage(
            channel=self.name,
            bot_id=self.bot_id,
            chat_id=f"{owner}/{chat}",
            message_id=f"{owner}/{message_id}",
            sender_id=owner,
            text=text,
            operator=owner == OPERATOR,
        )

    async def stored(self, message_id: str) -> InboxRow | None:
        return await self._store.read(inbox.by_message, self.name, message_id)

    async def standing(self, message_id: str, now: int) -> Standing:
        """Return how a message stands at ``now``, in milliseconds."""
        return await self._store.read(_standing, message_id, now)


def _standing(db: Database, message_id: str, now: int) -> Standing:
    row = inbox.by_message(db, CHANNEL, message_id)
    if row is None:
        return Standing(None, [])
    if row.state in ("new", "claimed"):
        return Standing(row, chat_lines.questions(db, row.chat_key, now))
    texts = (
        outbox.notices_to(db, row.chat_key, message_id)
        if row.turn_id is None
        else outbox.answers_of_turn(db, row.turn_id)
    )
    return Standing(Ended(row, texts), [])
