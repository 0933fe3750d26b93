"""Parse the media of a Telegram message: files to fetch, and a description of the rest. Pure.

Unusable media become a line of text, so that the agent knows about them.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress

from pydantic import Field, JsonValue, ValidationError

from orchestrator.channel_api import MAX_FILE, Attachment
from orchestrator.extensions.telegram.bot_errors import BotResult
from thinker.formats import recordings
from thinker.formats.images import MAX_PICTURE
from thinker.protocol.messages import JsonObject

PLAIN = ("contact", "dice", "location", "poll", "venue")  # fully described by their text
MAX_DESCRIPTION = 200  # characters of a name or question
# Media to fetch, besides photos, and default file endings of recordings.
FILES = {"document": "", "audio": ".mp3", "voice": ".ogg", "video_note": ".mp4"}
SAID = ("voice", "video_note")  # recorded with the chat's own button, instead of typing


class _MediaPart(BotResult):
    """The fields of all kinds of media; absent ones have their defaults."""

    file_id: str = ""
    file_size: int = 0
    width: int = 0
    height: int = 0
    duration: int = 0
    file_name: str = ""
    mime_type: str = ""
    emoji: str = ""
    value: int = 0
    title: str = ""
    question: str = ""
    address: str = ""
    latitude: float = 0.0
    longitude: float = 0.0
    phone_number: str = ""
    first_name: str = ""
    last_name: str = ""
    performer: str = ""


class _PhotoSizes(BotResult):
    photo: tuple[_MediaPart, ...] = Field(min_length=1)


def parse_media(message: JsonObject) -> tuple[str, tuple[Attachment, ...]]:
    """Return a line that describes the media, or the files to fetch."""
    files = tuple(_parse_attachments(message))
    kind = next((kind for kind in KINDS if kind in message), None)
    if files or kind is None:
        return "", files
    hidden = "" if kind in PLAIN else "; what is in it is not known"
    if kind in FILES and _parse_part(message[kind]).file_size > MAX_FILE:
        hidden = f"; it is larger than {MAX_FILE // 1024**2} MB, which bots cannot download"
    return f"[{_describe_media(kind, message[kind])}{hidden}]", ()


def _parse_attachments(message: JsonObject) -> Iterator[Attachment]:
    sizes: tuple[_MediaPart, ...] = ()
    if "photo" in message:
        with suppress(ValidationError):
            sizes = _PhotoSizes.model_validate(message).photo
    fitting = [size for size in sizes if size.file_id and size.file_size <= MAX_PICTURE]
    if fitting:
        best = max(fitting, key=lambda size: size.width * size.height)
        yield Attachment(best.file_id, f"photo, {best.width}x{best.height}")
    kind = next((kind for kind in FILES if kind in message), None)
    if kind is None or "animation" in message:
        return
    part = _parse_part(message[kind])
    if not part.file_id or part.file_size > MAX_FILE:
        return
    name = part.file_name[:MAX_DESCRIPTION] or "file"
    if kind == "document":
        yield Attachment(part.file_id, _describe_file(part, part.mime_type), name)
        return
    if not recordings.find_recording_type(name):
        usual = FILES[kind]
        title = part.title[:MAX_DESCRIPTION] or kind.replace("_", " ")
        name = f"{title}{recordings.find_file_ending(part.mime_type) or usual}"
    about = _describe_media(kind, message[kind])
    yield Attachment(part.file_id, about, name, voice=kind in SAID)


def _describe_media(kind: str, value: JsonValue) -> str:
    part = _parse_part(value)
    details = KINDS[kind](part)
    return " ".join(f"{kind.replace('_', ' ')}{': ' if details else ''}{details}".split())


def _parse_part(value: JsonValue) -> _MediaPart:
    try:
        return _MediaPart.model_validate(value)
    except ValidationError:
        return _MediaPart()


def _describe_file(part: _MediaPart, kind: str = "") -> str:
    return ", ".join(word for word in (part.file_name[:MAX_DESCRIPTION], kind) if word)


def _describe_recording(part: _MediaPart) -> str:
    name = part.title or part.file_name
    length = f"{part.duration} seconds" if part.duration else ""
    return ", ".join(word for word in (part.performer, name[:MAX_DESCRIPTION], length) if word)


def _describe_place(part: _MediaPart) -> str:
    where = f"{part.latitude:.5f}, {part.longitude:.5f}" if part.latitude or part.longitude else ""
    return " ".join(word for word in (part.title, part.address, where) if word)[:MAX_DESCRIPTION]


# The order matters: a venue comes with a location, and an animation with a document.
KINDS: dict[str, Callable[[_MediaPart], str]] = {
    "animation": _describe_recording,
    "audio": _describe_recording,
    "contact": lambda part: f"{part.first_name} {part.last_name} {part.phone_number}"[
        :MAX_DESCRIPTION
    ],
    "dice": lambda part: f"{part.emoji} {part.value}",
    "document": lambda part: _describe_file(part, part.mime_type),
    "game": lambda part: part.title[:MAX_DESCRIPTION],
    "venue": _describe_place,
    "location": _describe_place,
    "paid_media": lambda _: "",
    "photo": lambda _: "",
    "poll": lambda part: part.question[:MAX_DESCRIPTION],
    "sticker": lambda part: part.emoji,
    "story": lambda _: "",
    "video": _describe_recording,
    "video_note": _describe_recording,
    "voice": _describe_recording,
}
NAMES = frozenset((*KINDS, *FILES, "photo"))  # the fields of a message that has any
