"""Conversations of the Responses API, and the items that clients put into them.

An item waits until the next request of its conversation includes it as a message. The rest of a
conversation are its requests and their outcomes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import orjson
from pydantic import Json, TypeAdapter

from orchestrator.errors import OrchestratorError
from orchestrator.journal.db.database import Database, Rows
from thinker.protocol.messages import AssistantMessage, JsonObject, Message

PREFIX = "conv_"  # prefix of ids that are made here, not by clients
MESSAGE: TypeAdapter[Message] = TypeAdapter(Message)


@dataclass(frozen=True)
class ApiConversation:
    """A conversation with the client's own ``metadata``; ``created_at`` in milliseconds."""

    id: str
    created_at: int
    metadata: Json[JsonObject]


@dataclass(frozen=True)
class ConversationItem:
    """An item that a client put in; ``request_id`` is the request that includes it."""

    seq: int
    message: Json[Message]
    request_id: str | None


CONVERSATIONS = Rows(ApiConversation, "conversation")
ITEMS = Rows(ConversationItem, "conversation_item")


class UnknownConversationError(OrchestratorError):
    """A conversation that does not exist or was deleted."""


class OtherConversationError(OrchestratorError):
    """A conversation of another agent or user."""


def create_conversation(db: Database, conversation_id: str, metadata: JsonObject, now: int) -> None:
    values = (conversation_id, now, orjson.dumps(metadata).decode())
    db.execute("INSERT INTO conversation(id, created_at, metadata) VALUES(?,?,?)", values)


def find_conversation(db: Database, conversation_id: str) -> ApiConversation | None:
    return CONVERSATIONS.find_first(db, "id = ?", conversation_id)


def update_metadata(db: Database, conversation_id: str, metadata: JsonObject) -> None:
    """Replace the metadata."""
    text = orjson.dumps(metadata).decode()
    db.execute("UPDATE conversation SET metadata = ? WHERE id = ?", (text, conversation_id))


def delete_conversation(db: Database, conversation_id: str) -> None:
    """Remove a conversation and its items; its responses stay until they expire."""
    db.execute("DELETE FROM conversation_item WHERE conversation_id = ?", (conversation_id,))
    db.execute("DELETE FROM conversation WHERE id = ?", (conversation_id,))


def add_items(db: Database, conversation_id: str, messages: Sequence[Message]) -> list[int]:
    """Append messages; return their numbers."""
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


def list_items(db: Database, conversation_id: str) -> list[ConversationItem]:
    """Return the items in order."""
    return ITEMS.select(db, "conversation_id = ? ORDER BY seq", conversation_id)


def remove_item(db: Database, conversation_id: str, seq: int) -> bool:
    """Remove an item that still waits; return whether it existed."""
    db.execute(
        "DELETE FROM conversation_item WHERE conversation_id = ? AND seq = ?"
        " AND request_id IS NULL",
        (conversation_id, seq),
    )
    return db.changes() > 0


def take_waiting_items(db: Database, conversation_id: str, request_id: str) -> tuple[Message, ...]:
    """Include a conversation's waiting items in a request that is being stored.

    Raises:
        UnknownConversationError: the conversation does not exist.
    """
    if find_conversation(db, conversation_id) is None:
        raise UnknownConversationError(f"unknown conversation {conversation_id!r}")
    waiting = ITEMS.select(
        db, "conversation_id = ? AND request_id IS NULL ORDER BY seq", conversation_id
    )
    db.execute(
        "UPDATE conversation_item SET request_id = ?"
        " WHERE conversation_id = ? AND request_id IS NULL",
        (request_id, conversation_id),
    )
    return tuple(join_split_answers(item.message for item in waiting))


def join_split_answers(messages: Iterator[Message] | Sequence[Message]) -> Iterator[Message]:
    """Yield messages; join an answer and its calls, which arrive as several items."""
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
