"""An update of Telegram as an `InboundMessage`. Pure; whatever comes in, one message comes out."""

import re
from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter, ValidationError

from orchestrator.channel_api import InboundMessage
from orchestrator.channels.telegram import media
from orchestrator.channels.telegram.bot_api import User

CHANNEL = "telegram"
KINDS = ("message", "edited_message")
MAX_TEXT = 100_000  # characters; Telegram itself allows 4096, other servers anything
TOO_LONG = f"Your message is too long for me: I read up to {MAX_TEXT:,} characters."

_NAME_LENGTH = 64  # Telegram's own limit of a first name
# What the journal's integers hold; the number after an update's is stored too.
_Id = Annotated[int, Field(gt=-(2**63), lt=2**63 - 1)]


class _Received(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class _Chat(_Received):
    id: _Id
    type: str


class _Entity(_Received):
    type: str
    offset: int = Field(ge=0)
    length: int = Field(ge=0)
    user: User | None = None


class _Replied(_Received):
    author: User | None = Field(None, alias="from")
    forum_topic_created: JsonValue = None


class _Message(_Received):
    message_id: _Id
    chat: _Chat
    author: User | None = Field(None, alias="from")
    sender_chat: _Chat | None = None
    text: str = ""
    caption: str = ""
    entities: tuple[_Entity, ...] = ()
    caption_entities: tuple[_Entity, ...] = ()
    message_thread_id: int | None = None
    is_topic_message: bool = False
    reply_to_message: _Replied | None = None
    edit_date: _Id = 0


@dataclass(frozen=True)
class Bot:
    """Who we are on Telegram; ``username`` is without ``@``."""

    id: str
    username: str


def update_number(update: JsonValue) -> int | None:
    """The update's number; None when it has none that could be stored or confirmed."""
    try:
        return TypeAdapter(_Id).validate_python(
            update.get("update_id") if isinstance(update, dict) else None
        )
    except ValidationError:
        return None


def inbound(update: JsonValue, number: int, bot: Bot) -> InboundMessage:
    """The message in ``update``; ``skip`` says why no agent should see it."""
    fields = update if isinstance(update, dict) else {}
    unseen = InboundMessage(CHANNEL, bot.id, "", f"u{number}", "", update_id=number)
    kind = next((name for name in KINDS if name in fields), None)
    if kind is None:
        return replace(unseen, kind="other", skip="not a message")
    raw = fields[kind]
    try:
        message = _Message.model_validate(raw)
    except ValidationError:
        return replace(unseen, skip="unreadable")
    sender = message.author or User(id=message.chat.id)
    found = replace(
        unseen,
        chat_id=str(message.chat.id),
        message_id=str(message.message_id),
        sender_id=str(message.sender_chat.id if message.sender_chat else sender.id),
        # Groups without topics number their reply threads too, and refuse to be answered there.
        thread_id=str(message.message_thread_id) if message.is_topic_message else None,
        edit_date=message.edit_date if kind == "edited_message" else 0,
        kind="edit" if kind == "edited_message" else "message",
        private=message.chat.type == "private",
        sender_name=" ".join(f"{sender.first_name} {sender.last_name}".split())[:_NAME_LENGTH],
    )
    words, pictures = media.contents(raw if isinstance(raw, dict) else {})
    return _judged(replace(found, text=words, attachments=pictures), message, bot)


def _judged(found: InboundMessage, message: _Message, bot: Bot) -> InboundMessage:
    """``found`` with its whole text, or with the reason why there is none for an agent."""
    if message.author and message.author.is_bot and not message.sender_chat:
        return replace(found, skip="from a bot")  # two bots would answer each other for ever
    if not found.private and not _addressed(message, bot):
        return replace(found, skip="not addressed")
    own = _without_mention(message.text or message.caption, bot)
    text = "\n".join(part for part in (own, found.text) if part.strip())
    if not text and not found.attachments:
        return replace(found, skip="no text")
    if len(text) > MAX_TEXT:
        return replace(found, text=text[:MAX_TEXT], skip="too long", notice=TOO_LONG)
    return replace(found, text=text)


def _addressed(message: _Message, bot: Bot) -> bool:
    """Whether a message in a group is meant for the bot."""
    replied = message.reply_to_message
    # Every message of a topic "replies" to the topic's creation, which may have been ours.
    if replied and replied.author and replied.forum_topic_created is None:
        ours = str(replied.author.id) == bot.id
    else:
        ours = False
    entities = message.entities if message.text else message.caption_entities
    text = (message.text or message.caption).encode("utf-16-le")
    return ours or any(_names_bot(entity, text, bot) for entity in entities)


def _names_bot(entity: _Entity, text: bytes, bot: Bot) -> bool:
    """Whether an entity mentions the bot; ``text`` is in UTF-16, in which offsets count."""
    if entity.user:
        return entity.type == "text_mention" and str(entity.user.id) == bot.id
    end = 2 * (entity.offset + entity.length)
    named = text[2 * entity.offset : end].decode("utf-16-le", "replace").lower()
    name = f"@{bot.username.lower()}"
    return (entity.type == "mention" and named == name) or (
        entity.type == "bot_command" and named.endswith(name)
    )


def _without_mention(text: str, bot: Bot) -> str:
    """``text`` without the bot's name at its head: ``@bot hi`` and ``/help@bot`` (in groups)."""
    if not bot.username:
        return text
    name = re.escape(bot.username)
    return re.sub(rf"^\s*(/\w+)?@{name}\b[,:]?\s*", _command, text, count=1, flags=re.IGNORECASE)


def _command(match: re.Match[str]) -> str:
    return f"{match[1]} " if match[1] else ""
