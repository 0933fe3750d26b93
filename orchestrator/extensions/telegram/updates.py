"""Translate Telegram updates into `InboundMessage`s. Pure; every update becomes one message."""

import re
from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import Field, JsonValue, TypeAdapter, ValidationError

from orchestrator.channel_api import PRESS, InboundMessage
from orchestrator.channels.sender_names import format_sender_name
from orchestrator.extensions.telegram import media, quotes
from orchestrator.extensions.telegram.bot_api import CHANNEL, User
from orchestrator.extensions.telegram.bot_errors import BotResult

KINDS = ("message", "edited_message", "callback_query")
PRESSED = "press:"  # prefix of a press's message id, before Telegram's id
MAX_TEXT = 100_000  # characters; Telegram allows 4096, other servers have no limit
TOO_LONG = f"Your message is too long for me: I read up to {MAX_TEXT:,} characters."

_NAME_LENGTH = 64  # characters
# What an integer of the journal holds; the number after the last update is stored too.
_Id = Annotated[int, Field(gt=-(2**63), lt=2**63 - 1)]
_ID = TypeAdapter[int](_Id)
_QUOTES = ("blockquote", "expandable_blockquote")
_MOVES = ("migrate_to_chat_id", "migrate_from_chat_id")


class _Chat(BotResult):
    id: _Id
    type: str


class _Entity(BotResult):
    type: str
    offset: int = Field(ge=0)
    length: int = Field(ge=0)
    user: User | None = None


class _RepliedMessage(BotResult):
    message_id: _Id = 0
    author: User | None = Field(None, alias="from")
    forum_topic_created: JsonValue = None


class _Message(BotResult):
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
    reply_to_message: _RepliedMessage | None = None
    edit_date: _Id = 0
    forward_origin: JsonValue = None
    forward_date: JsonValue = None  # of a forwarded message of an older server
    via_bot: JsonValue = None
    media_group_id: str | int = ""

    @property
    def words(self) -> str:
        return self.text or self.caption

    @property
    def marks(self) -> tuple[_Entity, ...]:
        """The entities of `words`."""
        return self.entities if self.text else self.caption_entities

    @property
    def is_repeated(self) -> bool:
        """Whether another person wrote the message, or an inline bot whose result was chosen."""
        origins = (self.forward_origin, self.forward_date, self.via_bot)
        return origins.count(None) < len(origins)


class _ButtonPress(BotResult):
    """A press of a button; for an old message Telegram sends only chat and number."""

    id: str = Field(max_length=64, pattern=r"^[\w-]+$")
    author: User = Field(alias="from")
    message: _Message
    data: str = Field(max_length=64)


class _GroupMove(BotResult):
    """The service messages of a group that becomes a supergroup: one in each of the two chats."""

    chat: _Chat
    migrate_to_chat_id: _Id | None = None
    migrate_from_chat_id: _Id | None = None


@dataclass(frozen=True)
class Bot:
    """The bot's own account; ``username`` is without ``@``."""

    id: str
    username: str
    channel: str = CHANNEL


def parse_update_number(update: JsonValue) -> int | None:
    """Return the number of an update; None if it has no valid one."""
    try:
        return _ID.validate_python(update.get("update_id") if isinstance(update, dict) else None)
    except ValidationError:
        return None


def parse_group_move(update: JsonValue) -> tuple[str, str] | None:
    """Return the old and the new id of a group that became a supergroup; None for other updates."""
    message = update.get("message") if isinstance(update, dict) else None
    if not isinstance(message, dict) or message.keys().isdisjoint(_MOVES):
        return None
    try:
        found = _GroupMove.model_validate(message)
    except ValidationError:
        return None
    here = found.chat.id
    old, new = found.migrate_from_chat_id or here, found.migrate_to_chat_id or here
    return None if old == new else (str(old), str(new))


def parse_inbound_message(update: JsonValue, number: int, bot: Bot) -> InboundMessage:
    """Parse the message in ``update``; ``skip`` says why no agent should see it."""
    fields = update if isinstance(update, dict) else {}
    unseen = InboundMessage(bot.channel, bot.id, "", f"u{number}", "", update_id=number)
    kinds = [name for name in KINDS if name in fields]
    if not kinds:
        return replace(unseen, kind="other", skip="not a message")
    kind, raw = kinds[0], fields[kinds[0]]
    if kind == "callback_query":
        return _parse_press(raw, unseen)
    try:
        message = _Message.model_validate(raw)
    except ValidationError:
        return replace(unseen, skip="unreadable")
    sender = message.author or User(id=message.chat.id)
    found = replace(
        unseen,
        origin="other_user" if message.is_repeated else "user",
        chat_id=str(message.chat.id),
        message_id=str(message.message_id),
        # Negative, as the ids of chats are: it must never be read as a person's.
        sender_id=str(-abs(message.sender_chat.id) if message.sender_chat else sender.id),
        # Groups without topics number their reply threads too, but refuse answers in them.
        thread_id=str(message.message_thread_id) if message.is_topic_message else None,
        edit_date=message.edit_date if kind == "edited_message" else 0,
        kind="edit" if kind == "edited_message" else "message",
        album=(str(message.media_group_id) or None) if kind == "message" else None,
        private=message.chat.type == "private",
        mentioned=_mentions_bot(message, bot),
        replied_to_bot=_is_reply_to_bot(message, bot),
        from_bot=_is_from_bot(message),
        personal=message.sender_chat is None,
        sender_name=_format_name(sender),
    )
    parts = raw if isinstance(raw, dict) else {}
    if not media.NAMES.isdisjoint(parts):
        description, files = media.parse_media(parts)
        found = replace(found, text=description, attachments=files)
    found = _apply_filters(found, message, bot)
    if found.skip is not None:
        return found
    source = quotes.format_source(parts)
    quote, files = quotes.parse_quote(parts, bot.id, found.sender_id)
    return replace(
        found,
        text=f"{source}\n{found.text}".strip() if source else found.text,
        quote=quote,
        reply_to=str(message.reply_to_message.message_id) if message.reply_to_message else None,
        attachments=(*found.attachments, *files),
    )


def _parse_press(raw: JsonValue, unseen: InboundMessage) -> InboundMessage:
    """Parse a button press by a person who sees its message."""
    try:
        press = _ButtonPress.model_validate(raw)
    except ValidationError:
        return replace(unseen, kind=PRESS, skip="unreadable")
    message = press.message
    return replace(
        unseen,
        chat_id=str(message.chat.id),
        message_id=f"{PRESSED}{press.id}",
        sender_id=str(press.author.id),
        text=f"{press.data} {message.message_id}",
        thread_id=str(message.message_thread_id) if message.is_topic_message else None,
        kind=PRESS,
        private=message.chat.type == "private",
        sender_name=_format_name(press.author),
    )


def _format_name(person: User) -> str:
    name = f"{person.first_name} {person.last_name}"
    return format_sender_name(name, str(person.id))[:_NAME_LENGTH]


def _apply_filters(found: InboundMessage, message: _Message, bot: Bot) -> InboundMessage:
    """Add the text to ``found``, or the reason why no agent should see the message."""
    if not found.private and not found.mentioned and _is_command_for_other_bot(message):
        return replace(found, skip="a command for another bot")
    written = _mark_quotes(message) if message.marks else message.words
    if "@" in written:
        written = _strip_mention(written, bot)
    text = "\n".join([part for part in (written, found.text) if part.strip()])
    if not text and not found.attachments:
        return replace(found, skip="no text")
    if len(text) > MAX_TEXT:
        return replace(found, text=text[:MAX_TEXT], skip="too long", notice=TOO_LONG)
    return replace(found, text=text)


def _is_from_bot(message: _Message) -> bool:
    """Return whether a bot wrote the message; one in a chat's name counts as a bot's."""
    return bool(message.author and message.author.is_bot and not message.sender_chat)


def _is_reply_to_bot(message: _Message, bot: Bot) -> bool:
    replied = message.reply_to_message
    # Every message of a topic "replies" to the topic's creation, which may be by the bot.
    author = replied.author if replied and replied.forum_topic_created is None else None
    return author is not None and str(author.id) == bot.id


def _mentions_bot(message: _Message, bot: Bot) -> bool:
    """Return whether the sender's own words mention the bot."""
    if not message.marks:
        return False
    text, quotes = message.words.encode("utf-16-le"), _find_quotes(message)
    return any(
        _names_bot(entity, text, bot)
        for entity in message.marks
        if not any(start <= entity.offset < end for start, end in quotes)
    )


def _find_quotes(message: _Message) -> list[tuple[int, int]]:
    """Return the start and end of each quote, in UTF-16 units."""
    marks = (mark for mark in message.marks if mark.type in _QUOTES)
    return sorted((mark.offset, mark.offset + mark.length) for mark in marks)


def _mark_quotes(message: _Message) -> str:
    """Return the words with "> " before each quoted line."""
    parts: list[str] = []
    text, at = message.words.encode("utf-16-le"), 0
    for start, end in _find_quotes(message):
        if start >= at:
            quoted = text[2 * start : 2 * end].decode("utf-16-le", "replace")
            before = text[2 * at : 2 * start].decode("utf-16-le", "replace")
            before = before.removeprefix("\n") if parts else before
            parts += [before, "" if before[-1:] in ("", "\n") else "\n"]
            parts += ["> ", quoted.rstrip("\n").replace("\n", "\n> "), "\n"]
            at = end
    after = text[2 * at :].decode("utf-16-le", "replace")
    return "".join([*parts, after.removeprefix("\n")]).rstrip("\n") if parts else after


def _is_command_for_other_bot(message: _Message) -> bool:
    """Return whether the message begins with a command that names another bot."""
    mark = next((mark for mark in message.marks if mark.type == "bot_command"), None)
    return mark is not None and mark.offset == 0 and "@" in message.words[: mark.length]


def _names_bot(entity: _Entity, text: bytes, bot: Bot) -> bool:
    """Return whether an entity mentions the bot; its offsets count UTF-16 units of ``text``."""
    if entity.user:
        return entity.type == "text_mention" and str(entity.user.id) == bot.id
    end = 2 * (entity.offset + entity.length)
    named = text[2 * entity.offset : end].decode("utf-16-le", "replace").lower()
    name = f"@{bot.username.lower()}"
    return (entity.type == "mention" and named == name) or (
        entity.type == "bot_command" and named.endswith(name)
    )


def _strip_mention(text: str, bot: Bot) -> str:
    """Remove the bot's name from the beginning: ``@bot hi``, ``/help@bot``."""
    if not bot.username:
        return text
    name = re.escape(bot.username)
    return re.sub(
        rf"^\s*(/\w+)?@{name}\b[,:]?\s*", _strip_bot_name, text, count=1, flags=re.IGNORECASE
    )


def _strip_bot_name(match: re.Match[str]) -> str:
    return f"{match[1]} " if match[1] else ""
