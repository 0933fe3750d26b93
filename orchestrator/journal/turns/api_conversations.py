"""Conversations that clients of the Responses API make, and the items that they put into them.

An item waits until the next request of its conversation takes it in: from then on it is one of that
request's messages. The rest of a conversation are its requests and their outcomes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import orjson
from pydantic import Json, TypeAdapter

from orchestrator.errors import OrchestratorError
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.rows import Rows
from thinker.protocol.messages import AssistantMessage, JsonObject, Message

PREFIX = "conv_"  # begins the ids of those that are made here, not named by clients
MESSAGE: TypeAdapter[Message] = TypeAdapter(Message)


@dataclass(frozen=True)
class ApiConversation:
    """A conversation with the client's own ``metadata``; ``created_at`` in milliseconds."""

    id: str
    created_at: int
    metadata: Json[JsonObject]


@dataclass(frozen=True)
class ConversationItem:
    """An item that a client put in; ``request_id`` is the request that took it in."""

    seq: int
    message: Json[Message]
    request_id: str | None


CONVERSATIONS = Rows(ApiConversation, "conversation")
ITEMS = Rows(ConversationItem, "conversation_item")


class UnknownConversationError(OrchestratorError):
    """A conversation that was never made, or was deleted."""


class OtherConversationError(OrchestratorError):
    """A conversation with another agent, or of another user."""


def create(db: Database, conversation_id: str, metadata: JsonObject, now: int) -> None:
    values = (conversation_id, now, orjson.dumps(metadata).decode())
    db.execute("INSERT INTO conversation(id, created_at, metadata) VALUES(?,?,?)", values)


def find(db: Database, conversation_id: str) -> ApiConversation | None:
    return CONVERSATIONS.first(db, "id = ?", conversation_id)


def describe(db: Database, conversation_id: str, metadata: JsonObject) -> None:
    """Replace the metadata."""
    text = orjson.dumps(metadata).decode()
    db.execute("UPDATE conversation SET metadata = ? WHERE id = ?", (text, conversation_id))


def delete(db: Database, conversation_id: str) -> None:
    """Remove a conversation and what was put into it; its responses stay until they are old."""
    db.execute("DELETE FROM conversation_item WHERE conversation_id = ?", (conversation_id,))
    db.execute("DELETE FROM conversation WHERE id = ?", (conversation_id,))


def add(db: Database, conversation_id: str, messages: Sequence[Message]) -> list[int]:
    """Put messages at the end; return their numbers."""
    query = "SELECT ifnull(max(seq), 0) FROM conversation_item WHERE conversation_id = ?"
    last = int(db.execute(query, (conversation_id,)).get)
    numbers = list(range(last + 1, last + 1 + len(messages)))
    db.executemany(
        "INSERT INTO conversation_item(conversation_id, seq, message) VALUES(?,?,?)",
        [
            (conversation_id, number, MESSAGE.dump_json(message).decode())
            for number, message in zip(numbers, messages, strict=True)
        ],
    )
    return numbers


def items(db: Database, conversation_id: str) -> list[ConversationItem]:
    """Return what clients put in, in its order."""
    return ITEMS.select(db, "conversation_id = ? ORDER BY seq", conversation_id)


def remove(db: Database, conversation_id: str, seq: int) -> bool:
    """Remove an item that still waits; return whether there was one."""
    db.execute(
        "DELETE FROM conversation_item WHERE conversation_id = ? AND seq = ?"
        " AND request_id IS NULL",
        (conversation_id, seq),
    )
    return db.changes() > 0


def take(db: Database, conversation_id: str, request_id: str) -> tuple[Message, ...]:
    """Take in what waits in a conversation, for a request that is being stored.

    Raises:
        UnknownConversationError: there is no such conversation.
    """
    if find(db, conversation_id) is None:
        raise UnknownConversationError(f"there is no conversation {conversation_id!r}")
    waiting = ITEMS.select(
        db, "conversation_id = ? AND request_id IS NULL ORDER BY seq", conversation_id
    )
    db.execute(
        "UPDATE conversation_item SET request_id = ?"
        " WHERE conversation_id = ? AND request_id IS NULL",
        (request_id, conversation_id),
    )
    return tuple(joined(item.message for item in waiting))


def joined(messages: Iterator[Message] | Sequence[Message]) -> Iterator[Message]:
    """Yield the messages; an answer and its calls arrive as several items and become one."""
    last: AssistantMessage | None = None
    for message in messages:
        if not isinstance(message, AssistantMessage):
            if last is not None:
                yield last
            last = None
            yield message
        elif last is None:
            last = message
        else:
            text = "\n".join(filter(None, (last.content, message.content)))
            calls = (*last.tool_calls, *message.tool_calls)
            last = AssistantMessage(content=text, tool_calls=calls)
    if last is not None:
        yield last
