"""send_message and send_telegram: send a message before the reply."""

from orchestrator.agentsfile.channel_kinds import split_account
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import outbox, sessions
from orchestrator.journal.turns.outbox import Address, OutboxPart
from orchestrator.tools.builtin.host_tool import (
    ToolContext,
    ToolFailure,
    journal_tool,
    read_text_argument,
)
from thinker.protocol.messages import JsonObject

TELEGRAM = "telegram"
MAX_MESSAGES = 5  # messages of a turn and its subagents, besides replies
PROPERTIES = {"message": "", "chat_id": "Default: the current chat."}


@journal_tool(
    "Send a message to the chat at once, before the reply. Do not repeat it in the reply.",
    PROPERTIES,
    ["message"],
    keywords="send, message, messages, telegram, notify, let know, text me, tell them",
)
def send_message(db: Database, context: ToolContext, arguments: JsonObject) -> str:
    return _queue_message(db, context, arguments, context.address.channel)


@journal_tool(
    "Send a Telegram message at once, before the reply. Do not repeat it in the reply.",
    PROPERTIES,
    ["message"],
    keywords="send, message, messages, telegram, notify, let know, text me, tell them",
)
def send_telegram(db: Database, context: ToolContext, arguments: JsonObject) -> str:
    here = context.address.channel
    channel = here if split_account(here)[0] == TELEGRAM else TELEGRAM
    return _queue_message(db, context, arguments, channel)


def _queue_message(db: Database, context: ToolContext, arguments: JsonObject, channel: str) -> str:
    address = find_write_address(db, context, channel, read_text_argument(arguments, "chat_id"))
    texts = context.split(channel, read_text_argument(arguments, "message"))
    parts = [OutboxPart(part.text, rendered=part.rendered) for part in texts]
    if not parts:
        raise ToolFailure("message is empty; write the text to send")
    require_message_room(db, context, len(parts))
    outbox.add_extra(db, context.turn_id, address, parts, context.mode(address), context.now)
    return f"Queued for delivery to chat {address.chat_id}."


def require_message_room(db: Database, context: ToolContext, parts: int) -> None:
    """Raise `ToolFailure` unless the turn may send this many more messages."""
    if outbox.count_extras(db, context.turn_id) + parts > MAX_MESSAGES:
        raise ToolFailure(
            f"nothing was sent: a turn may send {MAX_MESSAGES} messages, and a long text counts as"
            " several; put the rest into the reply"
        )


def find_write_address(db: Database, context: ToolContext, channel: str, chat_id: str) -> Address:
    """Return the address of the current chat, or of another one that the turn may write to."""
    current = context.address
    if channel == current.channel and chat_id in ("", current.chat_id):
        return current
    known = sessions.find_known_address(db, context.agent_id, channel, chat_id)
    if known is None or not context.may_write(db, known.channel, known.chat_id):
        raise ToolFailure(
            f"this agent knows no {channel} chat {chat_id!r} that it may write to from here"
        )
    return known
