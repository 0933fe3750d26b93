"""Held messages: those that a chat wrote while it waited to be paired.

Such a message is refused, and its inbox row has no text. The text is kept separately while the
chat's code is valid. Approving the chat makes the rows new in the same transaction, so that each is
answered once; anything else removes the text.
"""

from dataclasses import dataclass

from orchestrator.channel_api import InboundMessage
from orchestrator.journal.db.database import Database, Rows
from orchestrator.journal.turns import albums

MAX_HELD = 10  # messages of one chat, as many as an album has parts
OF_CHAT = "held.channel = ? AND held.chat_id = ?"


@dataclass(frozen=True)
class HeldMessage:
    """A refused message and its text."""

    id: int
    chat_key: str
    album: str | None
    said: str


HELD = Rows(HeldMessage, "inbox JOIN held ON inbox_id = id", "id, chat_key, album, held.text")


def hold_message(db: Database, row_id: int, message: InboundMessage) -> int:
    """Keep the text of a refused message if its chat has room.

    Returns the number of the chat's held messages with this one, 0 if it is not held.
    """
    chat = (message.channel, message.chat_id)
    number = 1 + int(db.execute(f"SELECT count(*) FROM held WHERE {OF_CHAT}", chat).get)
    if number > MAX_HELD:
        return 0
    db.execute("INSERT INTO held VALUES(?,?,?,?)", (row_id, *chat, message.text))
    return number


def release(db: Database, channel: str, chat_id: str) -> int:
    """Make a chat's held messages new, in order, and return their number."""
    rows = HELD.select(db, f"{OF_CHAT} ORDER BY id", channel, chat_id)
    for row in rows:
        db.execute(
            "UPDATE inbox SET state = 'new', text = ?, ended_at = NULL, error = NULL WHERE id = ?",
            (row.said, row.id),
        )
        if row.album:
            albums.join_album(db, row.id, row.chat_key, row.album)
    db.execute(f"DELETE FROM held WHERE {OF_CHAT}", (channel, chat_id))
    return len(rows)


def delete_held_texts(db: Database, channel: str, chat_id: str) -> None:
    """Remove the text of a chat's held messages, which stay refused."""
    db.execute(f"DELETE FROM held WHERE {OF_CHAT}", (channel, chat_id))
