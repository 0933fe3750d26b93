"""The conversations of all agents, for ``orchestrator sessions``."""

from dataclasses import dataclass
from typing import NamedTuple

from orchestrator.errors import UnknownNameError
from orchestrator.journal.db import audit
from orchestrator.journal.db.database import Database, Rows
from orchestrator.journal.turns import handoffs, sessions, subagents
from thinker.protocol.messages import MESSAGE, Message
from thinker.protocol.names import format_chat_name


@dataclass(frozen=True)
class StoredSession:
    """A session with the number of its messages; times in milliseconds.

    ``ended_at`` is None while the next message continues it; ``tokens`` is an estimate.
    """

    id: int
    agent_id: str
    chat_key: str
    started_at: int
    ended_at: int | None
    last_at: int
    messages: int
    tokens: int
    summary: str | None

    @property
    def chat(self) -> str:
        """The chat as people write it."""
        return format_chat_name(self.chat_key)


class ConversationLine(NamedTuple):
    """A message of a conversation, and the turn that stored it; ``at`` in milliseconds."""

    at: int
    turn_id: str | None
    message: Message


CONVERSATIONS = Rows(
    StoredSession,
    "(SELECT id, agent_id, chat_key, started_at, ended_at, tokens, summary,"
    " (SELECT count(*) FROM message WHERE session_id = session.id) AS messages,"
    " ifnull((SELECT at FROM message WHERE session_id = session.id ORDER BY id DESC LIMIT 1),"
    " started_at) AS last_at"
    " FROM session) AS stored",
)


def list_conversations(db: Database, agent_id: str | None, *, ended: bool) -> list[StoredSession]:
    """Return the open conversations, or all, the one with the newest message first."""
    where = (
        "agent_id = ifnull(?, agent_id) AND (? = 1 OR ended_at IS NULL) ORDER BY last_at DESC, id"
    )
    return CONVERSATIONS.select(db, where, agent_id, ended)


def load_conversation(db: Database, number: int) -> StoredSession:
    """Return a conversation.

    Raises:
        UnknownNameError: the number is unknown.
    """
    found = CONVERSATIONS.find_first(db, "id = ?", number)
    if found is None:
        raise UnknownNameError(f"unknown conversation {number}; see: orchestrator sessions list")
    return found


def list_conversation_lines(db: Database, number: int, limit: int) -> list[ConversationLine]:
    """Return the newest messages of a conversation, oldest first."""
    rows = db.execute(
        "SELECT at, turn_id, body FROM message WHERE session_id = ? ORDER BY id DESC LIMIT ?",
        (number, limit),
    )
    found = [ConversationLine(at, turn, MESSAGE.validate_json(body)) for at, turn, body in rows]
    return found[::-1]


def end_conversation(db: Database, number: int, now: int) -> None:
    """End a conversation as ``/new`` in its chat does: the next message starts a new one.

    Raises:
        UnknownNameError: no conversation of this number is open.
    """
    found = load_conversation(db, number)
    if found.ended_at is not None:
        raise UnknownNameError(
            f"conversation {number} has already ended; see: orchestrator sessions list"
        )
    handoffs.take_back_chat(db, found.chat_key, now)
    sessions.end_session(db, found.agent_id, found.chat_key, now)
    subagents.dismiss_subagents(db, found.chat_key, now)
    audit.record_decision(db, "operator", "ended a conversation", f"session {number}", now)
