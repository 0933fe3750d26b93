"""The attachments of messages: pictures and documents.

Elsewhere in the journal a picture is an `Image` with a ``ref`` to its bytes, see `stored_files`.
`load_and_fill_pictures` adds the bytes for the few messages whose pictures a model sees.
"""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from orchestrator.channel_api import Attachment
from orchestrator.journal.db.database import Database, Rows
from orchestrator.journal.turns import stored_files
from thinker.formats.images import MEDIA_TYPES
from thinker.protocol.fencing import compute_mark
from thinker.protocol.messages import (
    UNTRUSTED,
    AssistantMessage,
    AttachedFile,
    Image,
    Message,
    Origin,
    ToolResult,
    UserMessage,
)

MAX_PICTURE_BYTES = (
    8 * 1024 * 1024
)  # bytes of pictures in one request to a worker, whose frames have 16 MiB
LOST = "{about}, could not be fetched"
EXCERPT = 20_000  # characters of a document shown at first
CUT = "[{left} characters more; read_attachment shows them]"
SPOKEN = "the text above is what it says"
Pictured = TypeVar("Pictured", UserMessage, ToolResult, Message)


class ExtractedText(NamedTuple):
    """The text of a file, or the reason why there is none."""

    text: str | None
    problem: str = ""


@dataclass(frozen=True)
class UnreadFile:
    """A file of a stored message that must still be downloaded, or (with a ``media_id``) read."""

    inbox_id: int
    part: int
    channel: str
    handle: str
    about: str
    name: str
    media_id: str | None = None
    voice: bool = False


UNREAD_FILES = Rows(
    UnreadFile,
    "attachment JOIN inbox ON inbox.id = inbox_id",
    "inbox_id, part, channel, handle, about, name, media_id, voice",
)


def store_attachments(
    db: Database,
    inbox_id: int,
    channel: str,
    attachments: Sequence[Attachment],
    now: int,
    *,
    first: int = 0,
) -> None:
    """Store the attachments of a message, numbered from ``first`` on.

    Missing bytes are marked for download, other files than pictures for text extraction.
    """
    for part, item in enumerate(attachments, first):
        about = stored_files.clean_name(item.about)
        name = (stored_files.clean_name(item.name) or "file") if item.name else ""
        db.execute(
            "INSERT INTO attachment(inbox_id, part, handle, about, name, voice, state)"
            " VALUES(?,?,?,?,?,?,'wanted')",
            (inbox_id, part, item.handle, about, name, item.voice),
        )
        if item.data is not None:
            here = UnreadFile(inbox_id, part, channel, item.handle, about, name, voice=item.voice)
            store_fetched_file(db, here, item.data, now)


def list_unread_files(db: Database, turn_id: str, chat_key: str = "") -> list[UnreadFile]:
    """Return the files to download, of a turn's messages and of a chat's new messages."""
    where = (
        "attachment.state = 'wanted' AND (turn_id = ? OR inbox.state = 'new' AND chat_key = ?)"
        " ORDER BY inbox_id, part"
    )
    return UNREAD_FILES.select(db, where, turn_id, chat_key)


def store_fetched_file(
    db: Database, item: UnreadFile, data: bytes | None, now: int, text: ExtractedText | None = None
) -> None:
    """Store a file that was downloaded, and its text if it has been read.

    Give up on it if ``data`` is None, or if it is unnamed and not a picture that providers accept.
    The words of a voice message become its message's text.
    """
    about, kind, ref, body, state = item.about, "", None, None, "given up"
    if data is not None:
        kind = stored_files.detect_media_type(item.name, data)
    if data is not None and (item.name or kind in MEDIA_TYPES):
        ref, state = stored_files.store_file(db, data, kind, now), "kept"
        if kind not in MEDIA_TYPES:
            about = stored_files.describe_file(ref, item.name, kind, len(data))
            state = "wanted" if text is None else "kept"
            if text is not None:
                body = _shorten_document(text.text)
                about += f"; {text.problem}" if text.problem else ""
                if item.voice and body:
                    _append_spoken_text(db, item.inbox_id, body)
                    body, about = None, f"{about}; {SPOKEN}"
    db.execute(
        "UPDATE attachment SET state = ?, media_id = ?, media_type = ?, about = ?, body = ?"
        " WHERE inbox_id = ? AND part = ?",
        (state, ref, kind if ref else "", about, body, item.inbox_id, item.part),
    )


def _append_spoken_text(db: Database, inbox_id: int, said: str) -> None:
    """Append a sender's spoken words to a message."""
    sql = "UPDATE inbox SET text = trim(text || '\n' || ?, '\n') WHERE id = ?"
    db.execute(sql, (said, inbox_id))


def has_voice_message(db: Database, turn_id: str) -> bool:
    """Return whether a turn answers a voice message."""
    sql = (
        "SELECT 1 FROM inbox JOIN attachment ON inbox_id = inbox.id WHERE turn_id = ? AND voice = 1"
    )
    return db.execute(sql, (turn_id,)).get is not None


def _shorten_document(text: str | None) -> str | None:
    """Return the beginning of a document, with the number of characters left out."""
    if text is None or len(text) <= EXCERPT:
        return text
    return f"{text[:EXCERPT]}\n{CUT.format(left=len(text) - EXCERPT)}"


@dataclass(frozen=True)
class Author:
    """The author of a message of a turn; ``sender`` and ``name`` only in a chat of several people.

    ``marked``: the words of others are marked in the text itself.
    """

    turn_id: str = ""
    origin: Origin = "user"
    sender: str = ""
    marked: bool = False
    name: str = ""

    @property
    def fence(self) -> str:
        foreign = self.origin in UNTRUSTED and not self.marked
        return compute_mark(self.turn_id) if foreign else ""


UNKNOWN = Author()


def build_user_message(
    db: Database, inbox_id: int | None, text: str, author: Author = UNKNOWN
) -> UserMessage:
    """Build a stored message as a model reads it, with pictures but not their bytes.

    ``inbox_id`` may be None for a message without attachments.
    """
    sql = (
        "SELECT media_type, media_id, name, about, body FROM attachment WHERE inbox_id = ?"
        " ORDER BY part"
    )
    rows = [] if inbox_id is None else list(db.execute(sql, (inbox_id,)))
    images: list[Image] = []
    documents: list[AttachedFile] = []
    for kind, ref, name, about, body in rows:
        told = about if ref else LOST.format(about=about)
        if kind in MEDIA_TYPES or not (ref or name):
            images.append(Image(media_type=kind, ref=ref or "", about=told))
        else:
            mark = compute_mark(author.turn_id)
            documents.append(AttachedFile(about=told, content=body or "", fence=mark))
    return UserMessage(
        content=text,
        images=tuple(images),
        origin=author.origin,
        sender=author.sender,
        sender_name=author.name,
        fence=author.fence,
        documents=tuple(documents),
    )


def load_visible_pictures(db: Database, messages: Sequence[Message], recent: int) -> dict[str, str]:
    """Return the pictures of the last ``recent`` messages by ``ref``, in base64, newest first.

    Pictures that do not fit into one request, or that retention removed, are left out.
    """
    room = MAX_PICTURE_BYTES
    found: dict[str, str] = {}
    for message in reversed(messages[max(0, len(messages) - recent) :]):
        for image in () if isinstance(message, AssistantMessage) else message.images:
            data = db.execute("SELECT data FROM media WHERE id = ?", (image.ref,)).get
            if image.ref not in found and isinstance(data, bytes) and len(data) <= room:
                room -= len(data)
                found[image.ref] = b64encode(data).decode()
    return found


def fill_pictures(message: Pictured, data: Mapping[str, str]) -> Pictured:
    """Return a message with the bytes of those pictures that ``data`` has."""
    if isinstance(message, AssistantMessage):
        return message
    images = tuple(
        image.model_copy(update={"data": data.get(image.ref, image.data)})
        for image in message.images
    )
    return message.model_copy(update={"images": images})


def load_and_fill_pictures(db: Database, messages: Sequence[Pictured]) -> tuple[Pictured, ...]:
    data = load_visible_pictures(db, messages, len(messages))
    return tuple(fill_pictures(message, data) for message in messages)
