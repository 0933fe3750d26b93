"""The messages to a chat, for watchers and for clients that reconnect."""

from dataclasses import dataclass
from typing import NamedTuple

from orchestrator.journal.db.database import Database, Rows
from orchestrator.journal.turns import inbox, outbox
from orchestrator.journal.turns.outbox import Address


@dataclass(frozen=True)
class ChatLine:
    """A message to a chat; ``created_at`` in milliseconds.

    ``recipe`` and the fields after it are those of its turn, if it has one. A question has the
    ``code`` of its approval; ``mode`` is ``edit`` for the message that tells its outcome.
    """

    id: int
    turn_id: str | None
    body: str
    markdown: bool
    reply_to: str | None
    mode: str
    created_at: int
    agent_id: str | None
    recipe: str | None
    turn_chat: str | None
    ended_at: int | None  # of the turn
    code: str | None
    state: str | None  # of the approval
    expires: int | None

    @property
    def is_reply(self) -> bool:
        """Whether the message ended its turn, unlike one that a tool sent before."""
        return self.ended_at is not None and self.created_at >= self.ended_at

    def is_open_question(self, now: int) -> bool:
        """Return whether an operator can still answer it."""
        pending = self.mode != "edit" and self.state == "pending"
        return pending and self.expires is not None and self.expires > now


class Exchange(NamedTuple):
    """A message of a chat and the reply to it; ``kind`` as in the inbox."""

    kind: str
    text: str
    texts: tuple[str, ...]
    received_at: int


LINES = Rows(
    ChatLine,
    "outbox LEFT JOIN turn ON turn.id = outbox.turn_id"
    " LEFT JOIN approval ON approval.id = outbox.approval_id",
    f"outbox.id, outbox.turn_id, {outbox.TOLD}, outbox.markdown, outbox.reply_to, outbox.mode,"
    " outbox.created_at, turn.agent_id, turn.recipe, turn.chat_key, turn.ended_at,"
    " approval.code,"
    " approval.state, approval.expires",
)


def load_newest_position(db: Database) -> int:
    """Return the position after all messages so far."""
    return int(db.execute("SELECT coalesce(max(id), 0) FROM outbox").get)


def list_lines_since(db: Database, chat_key: str, position: int, limit: int) -> list[ChatLine]:
    """Return the messages to a chat after a position, oldest first."""
    where = "outbox.id > ? AND outbox.chat_key = ? AND final = 1 ORDER BY outbox.id LIMIT ?"
    return LINES.select(db, where, position, chat_key, limit)


def list_question_lines(db: Database, chat_key: str, now: int) -> list[ChatLine]:
    """Return the open questions of a chat, oldest first."""
    where = (
        "approval_id IN(SELECT id FROM approval WHERE state = 'pending' AND expires > ?)"
        " AND outbox.chat_key = ? AND outbox.mode = 'direct' ORDER BY outbox.id"
    )
    return LINES.select(db, where, now, chat_key)


def list_answered_message_ids(db: Database, turn_id: str) -> tuple[str, ...]:
    """Return the ids of the messages that a turn answers."""
    rows = db.execute("SELECT message_id FROM inbox WHERE turn_id = ? ORDER BY id", (turn_id,))
    return tuple(str(message_id) for (message_id,) in rows)


def list_recent_exchanges(
    db: Database, agent_id: str, address: Address, limit: int
) -> list[Exchange]:
    """Return the latest messages that an agent has answered or works on, oldest first."""
    where = (
        "agent_id = ? AND channel = ? AND chat_id = ? AND thread_id = ? AND bot_id = ?"
        " AND state IN('done','claimed') AND kind IN('message','task','hook')"
        " AND turn_id IS NOT NULL ORDER BY id DESC LIMIT ?"
    )
    place = (address.channel, address.chat_id, address.thread_id, address.bot_id)
    rows = inbox.INBOX.select(db, where, agent_id, *place, limit)
    return [
        Exchange(
            row.kind,
            row.text,
            outbox.list_texts_of_turn(db, row.turn_id or "") if row.state == "done" else (),
            row.received_at,
        )
        for row in reversed(rows)
    ]
