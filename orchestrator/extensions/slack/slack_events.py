"""Translate Slack events into received messages. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Optional

from pydantic import BaseModel, ConfigDict, JsonValue, StringConstraints, model_validator

from orchestrator.channelhost.channel_wire import ReceivedFile, ReceivedMessage
from orchestrator.extensions.slack.slack_markup import (
    format_readable_text,
    list_mentioned_ids,
    strip_mention,
)
from thinker.protocol.messages import Frozen, QuotedMessage

MESSAGE_SUBTYPES = (
    "",
    "file_share",
    "thread_broadcast",
    "bot_message",
)  # subtypes of ordinary messages
DELETED = "message_deleted"  # a subtype
SLACKBOT = "USLACKBOT"
VOICE = "slack_audio"  # subtype of a recording that was made instead of writing
MAX_NAME = 255  # characters

# Seconds since the epoch, and a part that makes the timestamp unique: a message's id in its chat.
Timestamp = Annotated[str, StringConstraints(pattern=r"^([0-9]{1,12}\.[0-9]{1,9})?$")]


class SlackObject(BaseModel):
    """Base of Slack's objects, which may have more fields, and null for unknown ones."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, value: JsonValue) -> JsonValue:
        if not isinstance(value, dict):
            return value
        return {name: field for name, field in value.items() if field is not None}


class SlackFile(SlackObject):
    """A file of a message, or the result of ``files.info``."""

    id: str = ""
    name: str = ""
    mimetype: str = ""
    subtype: str = ""
    original_w: int = 0
    original_h: int = 0
    duration_ms: int = 0
    url_private: str = ""
    url_private_download: str = ""


class _EditMark(SlackObject):
    ts: Timestamp = ""


class _Author(SlackObject):
    user: str = ""
    name: str = ""
    text: str = ""


class SlackShare(SlackObject):
    """What stands below a message: another message that it passes on, or a preview of a page."""

    is_share: bool = False
    is_msg_unfurl: bool = False
    author_id: str = ""
    author_name: str = ""
    text: str = ""

    @property
    def is_message(self) -> bool:
        return self.is_share or self.is_msg_unfurl


class SlackMessage(SlackObject):
    """A message, as an event or in a conversation's history; ``edited`` if it was changed.

    The event of a changed ``message`` has the old version in ``previous_message``.
    """

    type: str = ""
    subtype: str = ""
    channel: str = ""
    channel_type: str = ""
    user: str = ""
    bot_id: str = ""
    username: str = ""
    bot_profile: _Author = _Author()
    text: str = ""
    ts: Timestamp = ""
    thread_ts: Timestamp = ""
    parent_user_id: str = ""
    root: _Author = _Author()
    latest_reply: Timestamp = ""
    edited: _EditMark | None = None
    files: tuple[SlackFile, ...] = ()
    attachments: tuple[SlackShare, ...] = ()
    deleted_ts: Timestamp = ""
    message: Optional["SlackMessage"] = None
    previous_message: Optional["SlackMessage"] = None

    @property
    def people(self) -> set[str]:
        """The ids of the message's author and of the people whom it mentions."""
        return list_mentioned_ids(self.text) | {self.user} - {""}


@dataclass(frozen=True)
class SlackView:
    """The bot's identity, and people's names, keyed by id."""

    user_id: str
    bot_id: str
    names: Mapping[str, str]


class SlackCursor(Frozen):
    """When the channel was first started, and the newest stored message."""

    begun: Timestamp
    newest: Timestamp

    def move_after(self, ts: str) -> "SlackCursor":
        """Return the cursor after a message is stored."""
        return self.model_copy(update={"newest": max(self.newest, ts, key=parse_timestamp)})


def parse_timestamp(ts: str) -> Decimal:
    """Return a timestamp's sort key."""
    return Decimal(ts or 0)


def extract_message(event: SlackMessage) -> SlackMessage | None:
    """Return the message in an event, ``edited`` for an edit; None for other events."""
    if event.type != "message":
        return None
    if event.subtype == DELETED:
        return event if event.deleted_ts else None
    if event.subtype != "message_changed":
        return event if event.subtype in MESSAGE_SUBTYPES else None
    new, old = event.message, event.previous_message
    if new is not None and new.subtype == "tombstone":  # of a message with a thread
        return event.model_copy(update={"subtype": DELETED, "deleted_ts": new.ts})
    if new is None or new.edited is None or (old is not None and old.edited == new.edited):
        return None  # Slack has added a preview of a link, or counted an answer
    place = {"channel": event.channel, "channel_type": event.channel_type}
    return new.model_copy(update=place) if new.subtype in MESSAGE_SUBTYPES else None


def convert_slack_message(message: SlackMessage, view: SlackView) -> ReceivedMessage | None:
    """Return the received message; None for the bot's own or one without an author."""
    if message.subtype == DELETED:
        return ReceivedMessage(
            chat_id=message.channel, message_id=message.deleted_ts, sender_id="", kind="removal"
        )
    sender = message.user or message.bot_id
    own = message.user == view.user_id or (message.bot_id and message.bot_id == view.bot_id)
    if not sender or own or not message.ts or not message.channel:
        return None
    in_thread = message.thread_ts not in ("", message.ts)
    private = message.channel_type == "im" or message.channel.startswith("D")
    parent = message.parent_user_id or message.root.user
    name = view.names.get(sender) or message.username or message.bot_profile.name
    return ReceivedMessage(
        chat_id=message.channel,
        message_id=message.ts,
        sender_id=sender,
        sender_name=name[:MAX_NAME],
        text=format_readable_text(strip_mention(message.text, view.user_id), view.names),
        thread_id=message.thread_ts if in_thread else None,
        edit_date=int(parse_timestamp(message.edited.ts)) if message.edited else 0,
        private=private,
        mentioned=view.user_id in list_mentioned_ids(message.text),
        replied_to_bot=in_thread and not private and parent == view.user_id,
        from_bot=bool(message.bot_id) or sender == SLACKBOT,
        quote=_build_quote(message, view),
        attachments=tuple(_build_received_file(file) for file in message.files if file.id),
    )


def _build_quote(message: SlackMessage, view: SlackView) -> QuotedMessage | None:
    """Return the message that a message passes on, or the thread's first one that it answers.

    Slack tells the latter only of an answer that is shown in the chat, too.
    """
    share = next((one for one in message.attachments if one.is_message), None)
    author = message.root.user if share is None else share.author_id
    text = message.root.text if share is None else share.text
    name = view.names.get(author) or ("" if share is None else share.author_name)
    own = {view.user_id: "agent", message.user: "sender"}
    quote = {
        "kind": "reply" if share is None else "forward",
        "by": own.get(author, "other") if author else "other",
        "author": name,
        "text": format_readable_text(text, view.names),
    }
    return QuotedMessage.model_validate(quote) if text.strip() else None


def _build_received_file(file: SlackFile) -> ReceivedFile:
    kind = file.mimetype.partition("/")[0]
    kind = kind if kind in ("image", "audio", "video") else "file"
    size = f"{file.original_w}x{file.original_h}" if file.original_w and file.original_h else ""
    length = f"{file.duration_ms // 1000} seconds" if file.duration_ms else ""
    parts = (file.name[:200], file.mimetype[:80], size, length)
    details = ", ".join(part for part in parts if part)
    about = f"{kind}: {details}" if details else kind
    voice = file.subtype == VOICE
    return ReceivedFile(handle=file.id, about=about, name=file.name[:MAX_NAME], voice=voice)
