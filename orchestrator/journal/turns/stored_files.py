"""The bytes of pictures and documents, each stored once, and how agents and people find them.

A file's id is the SHA-256 of its bytes; agents write its beginning: ``file-3fa9c0d1e2b4``.
"""

import hashlib
import mimetypes
from base64 import b64decode
from pathlib import PurePath
from typing import NamedTuple

from orchestrator.channel_api import OutboundFile
from orchestrator.journal.db.database import Cursor, Database
from orchestrator.journal.memory.memory_scope import MemoryScope
from thinker.formats import recordings
from thinker.formats.documents import ENDINGS, PDF, UNREAD
from thinker.formats.images import MAX_PICTURE, MEDIA_TYPES, detect_image_type
from thinker.protocol.messages import Image, Origin, ToolResult

PREFIX = "file-"
DIGITS = 12  # of a handle
MAX_NAME = 250  # characters
MAX_SEARCHED = 2000  # newest files among which those of a chat are looked for
UNNAMED = "application/octet-stream"
KINDS = {  # by ending; Python's own, which no list of the machine has been added to yet
    **mimetypes.types_map,
    **{ending: kind for kind, ending in {**UNREAD, **ENDINGS}.items()},
    **recordings.KINDS,
    ".md": "text/markdown",
}


class FoundFile(NamedTuple):
    """A file of a chat; ``at`` in milliseconds. Without ``size`` its bytes are gone."""

    media_id: str
    name: str
    media_type: str
    size: int | None
    origin: Origin
    at: int

    @property
    def file_name(self) -> str:
        """The file name for sending, with an ending."""
        return self.name if "." in self.name else f"{self.name}{find_ending(self.media_type)}"

    def __str__(self) -> str:
        if self.size is None:
            return f"{self.name}, {self.media_type}, removed because of its age"
        return describe_file(self.media_id, self.name, self.media_type, self.size)


# The files that a turn may use, newest first, with the origin of each.
USABLE = f"""SELECT media_id, name, at, origin FROM (
SELECT media_id, name, received_at AS at, 'other_user' AS origin, turn.agent_id, scope
  FROM (SELECT * FROM attachment WHERE {{media}} ORDER BY inbox_id DESC LIMIT {MAX_SEARCHED})
  AS came JOIN inbox ON inbox.id = inbox_id JOIN turn ON turn.id = turn_id
UNION ALL SELECT media_id, name, started_at, 'tool', agent_id, scope
  FROM (SELECT * FROM tool_file WHERE {{media}} ORDER BY turn_id DESC LIMIT {MAX_SEARCHED}) AS made
  JOIN turn ON turn.id = turn_id) AS found
WHERE ({{visible}} OR scope = ?) ORDER BY at DESC, media_id"""


def detect_media_type(name: str, data: bytes) -> str:
    """Return the media type of a file.

    Pictures that models accept and PDFs are recognized by their bytes, other files by their name,
    and recordings by their bytes if the name is unclear.
    """
    picture = detect_image_type(data[:16]) if len(data) <= MAX_PICTURE else None
    found = picture or (PDF if data.startswith(b"%PDF-") else _guess_media_type(name))
    return (recordings.detect_sound_type(data[:16]) or found) if found == UNNAMED else found


def find_ending(media_type: str) -> str:
    """Return the usual file ending of a media type; empty if unknown."""
    return next((ending for ending, kind in KINDS.items() if kind == media_type), "")


def _guess_media_type(name: str) -> str:
    """Guess the media type of a file that is not a picture."""
    found = KINDS.get(PurePath(name).suffix.lower(), UNNAMED)
    return UNNAMED if found in MEDIA_TYPES else found


def clean_name(name: str) -> str:
    """Clean a stranger's file name for use in a line of text."""
    shown = "".join(char if char.isprintable() and char not in "[]" else " " for char in name)
    return " ".join(shown.split())[:MAX_NAME]


def build_handle(media_id: str) -> str:
    return f"{PREFIX}{media_id[:DIGITS]}"


def describe_file(media_id: str, name: str, kind: str, size: int) -> str:
    return f"{build_handle(media_id)}: {name}, {kind}, {size:,} bytes"


def store_file(db: Database, data: bytes, kind: str, now: int) -> str:
    """Store a file, if it is not stored, and return its id."""
    media_id = hashlib.sha256(data).hexdigest()
    db.execute(
        "INSERT INTO media VALUES(?,?,?,?) ON CONFLICT(id) DO UPDATE SET at = excluded.at",
        (media_id, kind, data, now),
    )
    return media_id


def store_result_files(
    db: Database, turn_id: str, seq: int, result: ToolResult, now: int
) -> ToolResult:
    """Store the files and pictures of a call's result.

    Returns the result with references to its pictures, and the handles of all in its content.
    """
    if not result.images and not result.files:
        return result
    images: list[Image] = []
    lines: list[str] = []

    def store_part(encoded: str, name: str, kind: str | None = None) -> str:
        data = b64decode(encoded)
        kind = kind or detect_media_type(name, data)
        ref = store_file(db, data, kind, now)
        sql = "INSERT INTO tool_file VALUES(?,?,?,?,?) ON CONFLICT DO NOTHING"
        db.execute(sql, (turn_id, seq, len(lines), ref, name))
        lines.append(f"[{describe_file(ref, name, kind, len(data))}]")
        return ref

    for image in result.images:
        ref = store_part(image.data, "picture", image.media_type) if image.data else image.ref
        images.append(image.model_copy(update={"data": "", "ref": ref}))
    for file in result.files:
        store_part(file.data, clean_name(file.name) or "file")
    content = "\n".join(filter(None, (result.content, *lines)))
    return result.model_copy(update={"content": content, "images": tuple(images), "files": ()})


def list_files(db: Database, memory: MemoryScope, most: int) -> list[FoundFile]:
    """Return the newest files that a turn with this memory may use, each once."""
    found: dict[str, FoundFile] = {}
    for media_id, name, at, origin in _select_usable(db, memory, "media_id IS NOT NULL"):
        if media_id not in found:
            found[media_id] = _build_found_file(db, str(media_id), str(name), int(at), origin)
        if len(found) == most:
            break
    return list(found.values())


def find_file(db: Database, memory: MemoryScope, named: str) -> FoundFile | None:
    """Return the file with this handle, if a turn with this memory may use it."""
    digits = named.strip().strip("[]").partition(":")[0].removeprefix(PREFIX).lower()
    if len(digits) < DIGITS or not set(digits) <= set("0123456789abcdef"):
        return None
    between = "media_id >= ? AND media_id < ?"
    row = _select_usable(db, memory, between, digits, f"{digits}g").fetchone()
    return row and _build_found_file(db, str(row[0]), str(row[1]), int(row[2]), row[3])


def _select_usable(db: Database, memory: MemoryScope, media: str, *values: str) -> Cursor:
    visible = memory.build_row_condition()
    sql = USABLE.format(media=media, visible=visible.sql)
    return db.execute(sql, (*values, *values, *visible.values, memory.chat))


def load_content(db: Database, media_id: str) -> bytes | None:
    """Return the bytes of a file; None if retention removed them."""
    found: bytes | None = db.execute("SELECT data FROM media WHERE id = ?", (media_id,)).get
    return found


def find_outbound_file(db: Database, media_id: str, name: str) -> OutboundFile | None:
    """Return a file to send; None if retention removed it."""
    data = load_content(db, media_id)
    if data is None:
        return None
    return OutboundFile(name, detect_media_type(name, data), data)


def _build_found_file(db: Database, media_id: str, name: str, at: int, origin: Origin) -> FoundFile:
    sql = "SELECT media_type, length(data) FROM media WHERE id = ?"
    kind, size = db.execute(sql, (media_id,)).fetchone() or ("", None)
    if kind not in MEDIA_TYPES:  # its bytes may have come by other names
        kind = _guess_media_type(name)
    return FoundFile(media_id, name or "picture", kind, size, origin, at)
