"""Pictures in the journal: the attachments of messages, and the bytes of all pictures.

Elsewhere in the journal a picture is an `Image` with a ``ref`` to its bytes. `filled` adds the
bytes for the few messages whose pictures a model sees.
"""

import hashlib
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import apsw

from orchestrator.channel_api import Attachment
from orchestrator.journal.db.rows import Rows
from thinker.formats.images import media_type
from thinker.protocol.fencing import mark_of
from thinker.protocol.messages import (
    UNTRUSTED,
    AssistantMessage,
    Image,
    Message,
    Origin,
    ToolResult,
    UserMessage,
)

MOST = 8 * 1024 * 1024  # bytes of pictures in one request to a worker, whose frames have 16 MiB
LOST = "{about}, could not be fetched"
Pictured = TypeVar("Pictured", UserMessage, ToolResult, Message)


@dataclass(frozen=True)
class Wanted:
    """A picture of a stored message that has not been downloaded from its channel."""

    inbox_id: int
    part: int
    channel: str
    handle: str


WANTED = Rows(Wanted, "attachment JOIN inbox ON inbox.id = inbox_id")


def attach(db: apsw.Connection, inbox_id: int, attachments: Sequence[Attachment]) -> None:
    db.executemany(
        "INSERT INTO attachment(inbox_id, part, handle, about, state) VALUES(?,?,?,?,'wanted')",
        [(inbox_id, part, item.handle, item.about) for part, item in enumerate(attachments)],
    )


def wanted(db: apsw.Connection, turn_id: str, chat_key: str = "") -> list[Wanted]:
    """Return the pictures to download: of a turn's messages and of a chat's new messages."""
    where = (
        "attachment.state = 'wanted' AND (turn_id = ? OR inbox.state = 'new' AND chat_key = ?)"
        " ORDER BY inbox_id, part"
    )
    return WANTED.select(db, where, turn_id, chat_key)


def fetched(db: apsw.Connection, item: Wanted, data: bytes | None, now: int) -> None:
    """Store a downloaded picture.

    Give up if ``data`` is None or not in an image format that providers accept.
    """
    kind = None if data is None else media_type(data)
    ref = None if data is None or kind is None else _keep(db, data, kind, now)
    db.execute(
        "UPDATE attachment SET state = iif(?1 IS NULL, 'given up', 'kept'), media_id = ?1,"
        " media_type = ? WHERE inbox_id = ? AND part = ?",
        (ref, kind or "", item.inbox_id, item.part),
    )


@dataclass(frozen=True)
class Author:
    """Who wrote a message of a turn; ``sender`` only in a chat of several people."""

    turn_id: str = ""
    origin: Origin = "user"
    sender: str = ""

    @property
    def fence(self) -> str:
        return mark_of(self.turn_id) if self.origin in UNTRUSTED else ""


UNKNOWN = Author()


def user_message(
    db: apsw.Connection, inbox_id: int | None, text: str, author: Author = UNKNOWN
) -> UserMessage:
    """Return a stored message as a model reads it, its pictures without their bytes.

    ``inbox_id`` may be None for one without pictures.
    """
    sql = "SELECT media_type, media_id, about FROM attachment WHERE inbox_id = ? ORDER BY part"
    rows = [] if inbox_id is None else list(db.execute(sql, (inbox_id,)))
    images = tuple(
        Image(media_type=kind, ref=ref or "", about=about if ref else LOST.format(about=about))
        for kind, ref, about in rows
    )
    origin, sender = author.origin, author.sender
    return UserMessage(
        content=text, images=images, origin=origin, sender=sender, fence=author.fence
    )


def stored(db: apsw.Connection, result: ToolResult, now: int) -> ToolResult:
    """Store the pictures of a tool's result, and return the result with references to them."""
    if not result.images:
        return result
    images = []
    for image in result.images:
        ref = _keep(db, b64decode(image.data), image.media_type, now) if image.data else image.ref
        images.append(image.model_copy(update={"data": "", "ref": ref}))
    return result.model_copy(update={"images": tuple(images)})


def visible(db: apsw.Connection, messages: Sequence[Message], recent: int) -> dict[str, str]:
    """Return the pictures of the last ``recent`` messages by ``ref``, in base64, newest first.

    Pictures that do not fit into one request, or that retention removed, are left out.
    """
    room = MOST
    found: dict[str, str] = {}
    for message in reversed(messages[max(0, len(messages) - recent) :]):
        for image in () if isinstance(message, AssistantMessage) else message.images:
            data = db.execute("SELECT data FROM media WHERE id = ?", (image.ref,)).get
            if image.ref not in found and isinstance(data, bytes) and len(data) <= room:
                room -= len(data)
                found[image.ref] = b64encode(data).decode()
    return found


def shown(message: Pictured, data: Mapping[str, str]) -> Pictured:
    """Return a message with the bytes of its pictures, as far as ``data`` has them."""
    if isinstance(message, AssistantMessage):
        return message
    images = tuple(
        image.model_copy(update={"data": data.get(image.ref, image.data)})
        for image in message.images
    )
    return message.model_copy(update={"images": images})


def filled(db: apsw.Connection, messages: Sequence[Pictured]) -> tuple[Pictured, ...]:
    data = visible(db, messages, len(messages))
    return tuple(shown(message, data) for message in messages)


def _keep(db: apsw.Connection, data: bytes, kind: str, now: int) -> str:
    ref = hashlib.sha256(data).hexdigest()
    db.execute(
        "INSERT INTO media VALUES(?,?,?,?) ON CONFLICT DO UPDATE SET at = excluded.at",
        (ref, kind, data, now),
    )
    return ref
