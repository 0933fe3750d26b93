"""Translate Discord messages into received messages. Pure."""

import re
from collections.abc import Collection, Iterator
from datetime import datetime

import discord

from orchestrator.channelhost.channel_wire import ReceivedFile, ReceivedMessage
from thinker.protocol.messages import QuotedMessage

SPOKEN = (discord.MessageType.default, discord.MessageType.reply)
MAX_NAME = 255  # characters
_NAMED = re.compile(r"<(@[!&]?|#)(\d{1,20})>|<a?(:\w{1,32}:)\d{1,20}>")


def is_private(message: discord.Message) -> bool:
    """Return whether a message is in a chat of the bot and one person."""
    return message.guild is None and getattr(message.channel, "guild_id", None) is None


def convert_discord_message(
    message: discord.Message, bot: int, sent: Collection[str], *, edited: bool = False
) -> ReceivedMessage | None:
    """Return the received message; None for system messages and the bot's own.

    ``sent`` are ids of messages of the bot.
    """
    if message.type not in SPOKEN or message.author.id == bot:
        return None
    chat, thread = _find_chat_and_thread(message)
    mentioned, text = _parse_mention(message, bot)
    date = message.edited_at if edited else None
    answered = _find_answered(message)
    return ReceivedMessage(
        chat_id=str(chat),
        message_id=str(message.id),
        sender_id=str(message.author.id),
        sender_name=message.author.display_name[:MAX_NAME],
        text=text,
        thread_id=None if thread is None else str(thread),
        edit_date=_to_epoch_seconds(date),
        private=is_private(message),
        mentioned=mentioned,
        replied_to_bot=_is_answer_to_bot(message, bot, sent),
        from_bot=message.author.bot or message.webhook_id is not None,
        origin="other_user" if message.message_snapshots else "user",
        quote=_build_quote(message, bot),
        reply_to=None if answered is None else str(answered.id),
        attachments=tuple(_iter_files(message)),
    )


def _build_quote(message: discord.Message, bot: int) -> QuotedMessage | None:
    """Return the message that a reply answers, as far as Discord sent it along."""
    answered = _find_answered(message)
    if answered is None:
        return None
    kept = answered.author.id in (bot, message.author.id) and not answered.message_snapshots
    by = ("agent" if answered.author.id == bot else "sender") if kept else "other"
    files = (f"[{attached.filename[:200]}]" for attached in answered.attachments)
    text = "\n".join(filter(None, (_join_texts(answered), *files)))
    quote = {"by": by, "author": answered.author.display_name, "text": text}
    return QuotedMessage.model_validate(quote) if text.strip() else None


def _find_answered(message: discord.Message) -> discord.Message | None:
    if message.type is not discord.MessageType.reply or message.reference is None:
        return None
    answered = message.reference.resolved
    return answered if isinstance(answered, discord.Message) else None


def _iter_files(message: discord.Message) -> Iterator[ReceivedFile]:
    """Yield the message's files, then pictures and documents of the message that it answers."""
    yield from (_build_received_file(message, attached) for attached in message.attachments)
    answered = _find_answered(message)
    if answered is not None:
        files = (_build_received_file(answered, attached) for attached in answered.attachments)
        yield from (file for file in files if file.about.startswith(("image", "file")))


def _to_epoch_seconds(date: datetime | None) -> int:
    return 0 if date is None else int(date.timestamp())


def _find_chat_and_thread(message: discord.Message) -> tuple[int, int | None]:
    channel = message.channel
    if isinstance(channel, discord.Thread):
        return channel.parent_id, channel.id
    return channel.id, None


def _is_answer_to_bot(message: discord.Message, bot: int, sent: Collection[str]) -> bool:
    answered = _find_answered(message)
    if answered is not None:
        return answered.author.id == bot
    if message.type is not discord.MessageType.reply or message.reference is None:
        return False
    return str(message.reference.message_id) in sent


def _parse_mention(message: discord.Message, bot: int) -> tuple[bool, str]:
    """Return whether the message mentions the bot, and its text with readable names.

    A reply lists the answered author among its mentions, so only the text counts.
    """
    role = message.guild.self_role if message.guild else None
    marks = [f"<@{bot}>", f"<@!{bot}>", *([f"<@&{role.id}>"] if role else ())]
    text = _join_texts(message, readable=False)
    mentioned = any(mark in text for mark in marks)
    text = re.sub(rf"\A\s*(?:{'|'.join(marks)})[:,]?\s*", "", text, count=1)
    stickers = "".join(f"\n(sticker: {sticker.name})" for sticker in message.stickers)
    return mentioned, _replace_mentions(text, message) + stickers


def _join_texts(message: discord.Message, *, readable: bool = True) -> str:
    """Return a message's words and those that it forwards."""
    texts = (message.content, *(shot.content for shot in message.message_snapshots))
    text = "\n".join(filter(None, texts))
    return _replace_mentions(text, message) if readable else text


def _replace_mentions(text: str, message: discord.Message) -> str:
    names = {f"@{user.id}": user.display_name for user in message.mentions}
    names |= {f"@&{role.id}": role.name for role in message.role_mentions}
    names |= {f"#{channel.id}": channel.name for channel in message.channel_mentions}

    def format_mention(found: re.Match[str]) -> str:
        kind, number, emoji = found.groups()
        if emoji:
            return str(emoji)
        known = names.get(f"{kind.replace('!', '')}{number}")
        return f"{kind[0]}{known}" if known else found[0]

    return _NAMED.sub(format_mention, text)


def _build_received_file(message: discord.Message, attached: discord.Attachment) -> ReceivedFile:
    media = attached.content_type or ""
    kind = media.partition("/")[0]
    kind = kind if kind in ("image", "audio", "video") else "file"
    size = f"{attached.width}x{attached.height}" if attached.width else ""
    length = f"{round(attached.duration)} seconds" if attached.duration else ""
    details = (attached.filename[:200], media.partition(";")[0][:80], size, length)
    return ReceivedFile(
        handle=f"{message.channel.id}/{message.id}/{attached.id}",
        about=f"{kind}: {', '.join(filter(None, details))}",
        name=attached.filename[:MAX_NAME],
        voice=attached.is_voice_message(),
    )
