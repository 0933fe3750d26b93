"""Read the media of a Telegram message: files to fetch, and a description of the rest. Pure.

Media that no agent can use become a line of text, so that the agent knows of them.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress

from pydantic import Field, JsonValue, ValidationError

from orchestrator.channel_api import MAX_FILE, Attachment
from orchestrator.channels.telegram.bot_errors import Answered
from thinker.formats import recordings
from thinker.formats.images import MAX_PICTURE
from thinker.protocol.messages import JsonObject

PLAIN = ("contact", "dice", "location", "poll", "venue")  # fully described by their text
MAX_DESCRIPTION = 200  # characters of a name or question
# What is fetched, besides photos, and how the names of recordings end if nothing says it.
FILES = {"document": "", "audio": ".mp3", "voice": ".ogg", "video_note": ".mp4"}
SAID = ("voice", "video_note")  # recorded with the chat's own button, instead of a text


class _Part(Answered):
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


class _Sizes(Answered):
    photo: tuple[_Part, ...] = Field(min_length=1)


def contents(message: JsonObject) -> tuple[str, tuple[Attachment, ...]]:
    """Return a line that describes the media, or else the files to fetch."""
    files = tuple(_files(message))
    kind = next((kind for kind in KINDS if kind in message), None)
    if files or kind is None:
        return "", files
    hidden = "" if kind in PLAIN else "; what is in it is not known"
    if kind in FILES and _part(message[kind]).file_size > MAX_FILE:
        hidden = f"; it is larger than {MAX_FILE // 1024**2} MB, which bots cannot download"
    return f"[{_description(kind, message[kind])}{hidden}]", ()


def _files(message: JsonObject) -> Iterator[Attachment]:
    sizes: tuple[_Part, ...] = ()
    if "photo" in message:
        with suppress(ValidationError):
            sizes = _Sizes.model_validate(message).photo
    fitting = [size for size in sizes if size.file_id and size.file_size <= MAX_PICTURE]
    if fitting:
        best = max(fitting, key=lambda size: size.width * size.height)
        yield Attachment(best.file_id, f"photo, {best.width}x{best.height}")
    kind = next((kind for kind in FILES if kind in message), None)
    if kind is None or "animation" in message:
        return
    part = _part(message[kind])
    if not part.file_id or part.file_size > MAX_FILE:
        return
    name = part.file_name[:MAX_DESCRIPTION] or "file"
    if kind == "document":
        yield Attachment(part.file_id, _named(part, part.mime_type), name)
        return
    if not recordings.kind_of(name):
        usual = FILES[kind]
        title = part.title[:MAX_DESCRIPTION] or kind.replace("_", " ")
        name = f"{title}{recordings.ending_of(part.mime_type) or usual}"
    about = _description(kind, message[kind])
    yield Attachment(part.file_id, about, name, voice=kind in SAID)


def _description(kind: str, value: JsonValue) -> str:
    part = _part(value)
    details = KINDS[kind](part)
    return " ".join(f"{kind.replace('_', ' ')}{': ' if details else ''}{details}".split())


def _part(value: JsonValue) -> _Part:
    try:
        return _Part.model_validate(value)
    except ValidationError:
        return _Part()


def _named(part: _Part, kind: str = "") -> str:
    return ", ".join(word for word in (part.file_name[:MAX_DESCRIPTION], kind) if word)


def _recording(part: _Part) -> str:
    name = part.title or part.file_name
    length = f"{part.duration} seconds" if part.duration else ""
    return ", ".join(word for word in (part.performer, name[:MAX_DESCRIPTION], length) if word)


def _place(part: _Part) -> str:
    where = f"{part.latitude:.5f}, {part.longitude:.5f}" if part.latitude or part.longitude else ""
    return " ".join(word for word in (part.title, part.address, where) if word)[:MAX_DESCRIPTION]


# The order matters: a venue comes with a location, and an animation with a document.
KINDS: dict[str, Callable[[_Part], str]] = {
    "animation": _recording,
    "audio": _recording,
    "contact": lambda part: f"{part.first_name} {part.last_name} {part.phone_number}"[
        :MAX_DESCRIPTION
    ],
    "dice": lambda part: f"{part.emoji} {part.value}",
    "document": lambda part: _named(part, part.mime_type),
    "game": lambda part: part.title[:MAX_DESCRIPTION],
    "venue": _place,
    "location": _place,
    "paid_media": lambda _: "",
    "photo": lambda _: "",
    "poll": lambda part: part.question[:MAX_DESCRIPTION],
    "sticker": lambda part: part.emoji,
    "story": lambda _: "",
    "video": _recording,
    "video_note": _recording,
    "voice": _recording,
}
