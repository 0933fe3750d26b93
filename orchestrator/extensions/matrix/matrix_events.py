"""Translate events of Matrix rooms into received messages. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from orchestrator.channelhost.channel_wire import ReceivedFile, ReceivedMessage
from thinker.protocol.messages import QuotedMessage

ENCRYPTED = (
    "I cannot read encrypted messages. Please write to me in a room without encryption: switch it"
    " off when you create the room."
)
VOICE = "org.matrix.msc3245.voice"  # marks a recording that was made instead of writing
MEDIA = {"m.image": "image", "m.file": "file", "m.audio": "audio", "m.video": "video"}
NOTICE = "m.notice"  # what bots say; no bot may answer it
MAX_NAME = 255  # characters

_QUOTED = re.compile(r"\A(?:>[^\n]*\n)+\n?")  # how older clients quote the answered message


class _MatrixObject(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Target(_MatrixObject):
    event_id: str = ""


class _Relation(_MatrixObject):
    rel_type: str = ""
    event_id: str = ""
    is_falling_back: bool = False
    in_reply_to: _Target | None = Field(None, alias="m.in_reply_to")


class _Mentions(_MatrixObject):
    user_ids: tuple[str, ...] = ()


class _Info(_MatrixObject):
    mimetype: str = ""
    w: int = 0
    h: int = 0
    duration: int = 0


class _Content(_MatrixObject):
    msgtype: str = ""
    body: str = ""
    filename: str = ""
    url: str = ""
    info: _Info = _Info()
    membership: str = ""
    redacts: str = ""
    relates_to: _Relation = Field(_Relation(), alias="m.relates_to")
    mentions: _Mentions | None = Field(None, alias="m.mentions")
    new_content: JsonValue = Field(None, alias="m.new_content")
    voice: JsonValue = Field(None, alias=VOICE)


class MatrixEvent(_MatrixObject):
    """An event of a room; ``origin_server_ts`` in milliseconds."""

    type: str
    event_id: str = ""
    sender: str = ""
    state_key: str | None = None
    origin_server_ts: Annotated[int, Field(ge=0, lt=2**53)] = 0
    redacts: str = ""
    content: _Content = _Content()

    @property
    def redacted_id(self) -> str:
        """The id of the removed event, which newer rooms have in the content."""
        return self.content.redacts or self.redacts

    @property
    def replaced_id(self) -> str:
        """The id of the edited message; empty for other events."""
        relation = self.content.relates_to
        return relation.event_id if relation.rel_type == "m.replace" else ""

    @property
    def answered_id(self) -> str:
        """The id of the answered message; in a thread only if the sender chose one."""
        relation = self.content.relates_to
        chosen = relation.in_reply_to is not None and not relation.is_falling_back
        return relation.in_reply_to.event_id if relation.in_reply_to and chosen else ""


@dataclass(frozen=True)
class RoomView:
    """The known data of a room; ``bot_names`` are the names that mention the bot."""

    room_id: str
    private: bool
    bot: str
    bot_names: tuple[str, ...]
    names: Mapping[str, str]


def parse_events(sources: Sequence[JsonValue]) -> list[MatrixEvent]:
    """Parse the readable events, in order."""
    return list(_parse_each_event(sources))


def _parse_each_event(sources: Sequence[JsonValue]) -> Iterator[MatrixEvent]:
    for source in sources:
        try:
            yield MatrixEvent.model_validate(source)
        except ValidationError:
            kept = ("type", "event_id", "sender", "origin_server_ts")
            fields = source if isinstance(source, dict) else {}
            found = {name: fields[name] for name in kept if name in fields}
            try:
                yield MatrixEvent.model_validate(found)
            except ValidationError:
                continue


def select_since_invited(events: Sequence[MatrixEvent], bot: str) -> Sequence[MatrixEvent]:
    """Select the messages since the bot was invited or joined, or all."""
    own = [
        (number, event.content.membership)
        for number, event in enumerate(events)
        if event.type == "m.room.member" and event.state_key == bot
    ]
    invited = [number for number, membership in own if membership == "invite"]
    joined = [number for number, membership in own if membership == "join"]
    if not joined:
        return events
    return events[(invited or joined)[-1] + 1 :]


def convert_matrix_event(
    event: MatrixEvent,
    room: RoomView,
    *,
    answers_bot: bool = False,
    answered: MatrixEvent | None = None,
) -> ReceivedMessage | None:
    """Return the message in an event; None for other events and the bot's own messages.

    ``answers_bot`` says whether the event answers a message of the bot, and ``answered`` is what
    it answers, if the homeserver has it.
    """
    if event.type == "m.room.redaction" and event.redacted_id:
        return ReceivedMessage(
            chat_id=room.room_id, message_id=event.redacted_id, sender_id="", kind="removal"
        )
    spoken = event.type in ("m.room.message", "m.room.encrypted", "m.sticker")
    if not spoken or event.sender in ("", room.bot) or not event.event_id:
        return None
    edited, relation = event.replaced_id, event.content.relates_to
    base = ReceivedMessage(
        chat_id=room.room_id,
        message_id=edited or event.event_id,
        sender_id=event.sender,
        sender_name=room.names.get(event.sender, "")[:MAX_NAME],
        thread_id=relation.event_id if relation.rel_type == "m.thread" else None,
        edit_date=event.origin_server_ts // 1000 if edited else 0,
        private=room.private,
        from_bot=event.content.msgtype == NOTICE,
        replied_to_bot=answers_bot,
    )
    if event.type == "m.room.encrypted":
        return base.model_copy(update={"skip": "encrypted", "notice": ENCRYPTED})
    fields = _build_content_fields(event, room)
    if event.answered_id:
        known = answered or _parse_fallback(event, bot=room.bot if answers_bot else "")
        fields["quote"] = _build_quote(known, event.sender, room)
        fields["reply_to"] = event.answered_id
    found = base.model_copy(update=fields)
    files = (*found.attachments, *_list_quoted_files(answered))
    return found.model_copy(update={"attachments": files})


def _build_content_fields(event: MatrixEvent, room: RoomView) -> dict[str, object]:
    content = event.content
    if event.replaced_id:
        try:
            content = _Content.model_validate(content.new_content)
        except ValidationError:
            return {"skip": "unreadable"}
    kind = "sticker" if event.type == "m.sticker" else MEDIA.get(content.msgtype, "")
    text = content.body
    if event.answered_id:
        text = _QUOTED.sub("", text, count=1)
    files: tuple[ReceivedFile, ...] = ()
    if kind:
        name = content.filename or content.body
        text = content.body if content.filename and content.filename != content.body else ""
        files = (_build_received_file(kind, name, content),)
    mentioned, text = _parse_mention(text, content, room)
    return {"text": text, "mentioned": mentioned, "attachments": files}


def _parse_fallback(event: MatrixEvent, bot: str) -> MatrixEvent:
    """Return what an older client quotes as the answered message; its author is not certain."""
    found = _QUOTED.match(event.content.body)
    lines = re.sub(r"^> ?", "", found[0] if found else "", flags=re.MULTILINE).strip()
    body = re.sub(r"\A(?:\* )?<[^>\s]*> ?", "", lines)
    return MatrixEvent(type="m.room.message", sender=bot, content=_Content(body=body))


def _build_quote(answered: MatrixEvent, sender: str, room: RoomView) -> QuotedMessage | None:
    own = {room.bot: "agent", sender: "sender"}
    text = _QUOTED.sub("", answered.content.body, count=1) if answered.answered_id else ""
    text = text or answered.content.body
    kind = MEDIA.get(answered.content.msgtype)
    quote = {
        "by": own.get(answered.sender, "other"),
        "author": room.names.get(answered.sender, answered.sender),
        "text": f"[{kind}: {text}]" if kind else text,
    }
    return QuotedMessage.model_validate(quote) if text.strip() else None


def _list_quoted_files(answered: MatrixEvent | None) -> tuple[ReceivedFile, ...]:
    """Return the picture or document of an answered message."""
    content = answered.content if answered else _Content()
    kind = MEDIA.get(content.msgtype, "")
    if kind not in ("image", "file") or not content.url:
        return ()
    return (_build_received_file(kind, content.filename or content.body, content),)


def _build_received_file(kind: str, name: str, content: _Content) -> ReceivedFile:
    info = content.info
    size = f"{info.w}x{info.h}" if info.w and info.h else ""
    length = f"{info.duration // 1000} seconds" if info.duration else ""
    details = ", ".join(part for part in (name[:200], info.mimetype[:80], size, length) if part)
    about = f"{kind}: {details}" if details else kind
    voice = kind == "audio" and content.voice is not None
    return ReceivedFile(handle=content.url, about=about, name=name[:MAX_NAME], voice=voice)


def _parse_mention(text: str, content: _Content, room: RoomView) -> tuple[bool, str]:
    """Return whether the message mentions the bot, and its text without a leading mention."""
    names = "|".join(re.escape(name) for name in room.bot_names if name)
    if not names:
        return False, text
    if content.mentions is not None:
        mentioned = room.bot in content.mentions.user_ids
    else:
        mentioned = re.search(rf"(?<!\w)(?:{names})(?!\w)", text, re.IGNORECASE) is not None
    if mentioned:
        text = re.sub(rf"\A\s*(?:{names})(?!\w)[:,]?\s*", "", text, count=1, flags=re.IGNORECASE)
    return mentioned, text


def build_message_content(text: str, html: str) -> dict[str, JsonValue]:
    """Build the content of a text message; line ends of HTML become ``<br>``."""
    content: dict[str, JsonValue] = {"msgtype": "m.text", "body": text, "m.mentions": {}}
    if html and html != text:
        parts = re.split(r"(<pre>.*?</pre>)", html, flags=re.DOTALL)
        broken = (
            part if part.startswith("<pre>") else part.replace("\n", "<br>") for part in parts
        )
        content["format"] = "org.matrix.custom.html"
        content["formatted_body"] = "".join(broken)
    return content
