"""Chat commands that wait for the node of their agent, because another one has received them.

Such a command is a new message in a queue of its own, so that it waits for no turn of its chat.
Once it is answered, its row is like that of any command.
"""

from typing import NamedTuple

import orjson

from orchestrator.channel_api import PRESS, ChatRole, InboundMessage
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import inbox
from orchestrator.journal.turns.inbox import InboxRow

QUEUE = "command/"  # begins the name of a chat's queue for one agent
WAITING = "SELECT EXISTS(SELECT 1 FROM inbox WHERE chat_key = ? AND state = 'new')"


class DeferredCommand(NamedTuple):
    """A command that waits: its message as it was received, and the role of its sender."""

    row: InboxRow
    message: InboundMessage
    role: ChatRole


def build_queue(agent_id: str, chat_key: str) -> str:
    """Return the name of the queue in which a chat's commands for an agent wait."""
    return f"{QUEUE}{agent_id}/{chat_key}"


def find_agent(queue: str) -> str:
    """Return the agent for which the commands of a queue wait."""
    return queue.removeprefix(QUEUE).partition("/")[0]


def format_facts(message: InboundMessage, role: ChatRole) -> str:
    """Return as JSON what answering a command needs and no other column keeps."""
    facts = {"role": role, "press": message.kind == PRESS, "reply_to": message.reply_to}
    return orjson.dumps(facts).decode()


def is_waiting(db: Database, agent_id: str, chat_key: str) -> bool:
    """Return whether a chat has commands that wait for the node of an agent."""
    return bool(db.execute(WAITING, (build_queue(agent_id, chat_key),)).get)


def list_waiting(db: Database, queue: str) -> list[DeferredCommand]:
    """Return the commands of a queue, the oldest first."""
    rows = inbox.INBOX.select(db, f"{inbox.OLDEST_NEW} ORDER BY id", queue)
    return [_restore_command(row) for row in rows]


def end_command(db: Database, command: DeferredCommand, now: int) -> bool:
    """End a command, whose answer follows in the same transaction; return False if it has ended."""
    row = command.row
    db.execute(
        "UPDATE inbox SET state = 'done', chat_key = ?, quote = NULL, ended_at = ?"
        " WHERE id = ? AND state = 'new'",
        (row.build_address().chat_key, now, row.id),
    )
    return bool(db.changes())


def _restore_command(row: InboxRow) -> DeferredCommand:
    facts = orjson.loads(row.quote or "{}")
    message = InboundMessage(
        channel=row.channel,
        bot_id=row.bot_id,
        chat_id=row.chat_id,
        message_id=row.message_id,
        sender_id=row.sender_id,
        text=row.text,
        thread_id=row.thread_id or None,
        kind=PRESS if facts["press"] else "message",
        private=row.private,
        sender_name=row.sender_name,
        target=row.target,
        origin=row.origin,
        reply_to=facts["reply_to"],
    )
    return DeferredCommand(row, message, facts["role"])
