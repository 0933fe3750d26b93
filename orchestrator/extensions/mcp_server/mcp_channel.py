"""The channel ``mcp``: chats between MCP clients and agents."""

from typing import NamedTuple

from orchestrator.channel_api import InboundMessage
from orchestrator.channels.stored_replies import EndedMessage, JournalChannel
from orchestrator.extensions.mcp_server.mcp_caller import CHANNEL, OPERATOR
from orchestrator.journal.db.database import Database
from orchestrator.journal.inspect import chat_lines
from orchestrator.journal.inspect.chat_lines import ChatLine
from orchestrator.journal.turns import inbox, outbox
from orchestrator.journal.turns.inbox import InboxRow


class MessageState(NamedTuple):
    """A message, with its answer if it has ended, and the open questions of its chat."""

    message: InboxRow | EndedMessage | None
    questions: list[ChatLine]


class McpChannel(JournalChannel):
    """The `Adapter` of MCP clients. Names of chats and ids of messages begin with their owner's."""

    name = CHANNEL

    def build_message(self, owner: str, chat: str, message_id: str, text: str) -> InboundMessage:
        """Return a message of a client, without an agent yet."""
        return InboundMessage(
            channel=self.name,
            bot_id=self.bot_id,
            chat_id=f"{owner}/{chat}",
            message_id=f"{owner}/{message_id}",
            sender_id=owner,
            text=text,
            operator=owner == OPERATOR,
        )

    async def find_stored_message(self, message_id: str) -> InboxRow | None:
        return await self._store.read(inbox.find_message_by_id, self.name, message_id)

    async def load_message_state(self, message_id: str, now: int) -> MessageState:
        """Return the state of a message at ``now``, in milliseconds."""
        return await self._store.read(_load_message_state, message_id, now)


def _load_message_state(db: Database, message_id: str, now: int) -> MessageState:
    row = inbox.find_message_by_id(db, CHANNEL, message_id)
    if row is None:
        return MessageState(None, [])
    if row.state in ("new", "claimed"):
        return MessageState(row, chat_lines.list_question_lines(db, row.chat_key, now))
    texts = (
        outbox.list_notices_to(db, row.chat_key, message_id)
        if row.turn_id is None
        else _list_answers_of_turn(db, row.turn_id)
    )
    return MessageState(EndedMessage(row, texts), [])


def _list_answers_of_turn(db: Database, turn_id: str) -> tuple[str, ...]:
    """Return a turn's texts like `list_texts_of_turn`, without questions to the operator."""
    where = "turn_id = ? AND final = 1 AND approval_id IS NULL ORDER BY part"
    sql = f"SELECT {outbox.TOLD} FROM outbox WHERE {where}"  # noqa: S608 - constants
    return tuple(str(body) for (body,) in db.execute(sql, (turn_id,)))
