"""Parse what a Telegram message answers, quotes or passes on. Pure."""

from pydantic import Field, JsonValue, ValidationError

from orchestrator.channel_api import Attachment
from orchestrator.extensions.telegram import media
from orchestrator.extensions.telegram.bot_api import User
from orchestrator.extensions.telegram.bot_errors import BotResult
from thinker.protocol.messages import JsonObject, QuotedMessage
from thinker.protocol.visible_text import clean_name


class _NamedChat(BotResult):
    title: str = ""


class _Origin(BotResult):
    """Where a message came from that was forwarded, or answered in another chat."""

    type: str = ""
    sender_user: User | None = None
    sender_user_name: str = ""
    sender_chat: _NamedChat = _NamedChat()
    chat: _NamedChat = _NamedChat()

    @property
    def name(self) -> str:
        person = self.sender_user
        shown = f"{person.first_name} {person.last_name}" if person else self.sender_user_name
        return clean_name(shown) or clean_name(self.sender_chat.title or self.chat.title)


class _Quote(BotResult):
    text: str = ""


class _Answered(BotResult):
    """The answered message, of this chat or another one."""

    author: User | None = Field(None, alias="from")
    sender_chat: _NamedChat | None = None
    origin: _Origin | None = None
    text: str = ""
    caption: str = ""
    forward_origin: JsonValue = None
    forward_date: JsonValue = None
    via_bot: JsonValue = None
    forum_topic_created: JsonValue = None

    @property
    def writer(self) -> User | None:
        """The person or bot that surely wrote the text."""
        repeated = (self.forward_origin, self.forward_date, self.via_bot)
        if repeated.count(None) < len(repeated) or self.sender_chat is not None:
            return None
        return self.origin.sender_user if self.origin is not None else self.author

    @property
    def name(self) -> str:
        if self.origin is not None:
            return self.origin.name
        shown = self.author
        return self.sender_chat.title if self.sender_chat else shown.first_name if shown else ""


def parse_quote(
    message: JsonObject, bot: str, sender: str
) -> tuple[QuotedMessage | None, tuple[Attachment, ...]]:
    """Return what a message answers, and the answered message's documents and pictures."""
    raw = message.get("reply_to_message") or message.get("external_reply")
    if not isinstance(raw, dict):
        told = "[story]" if "reply_to_story" in message else ""
        return (QuotedMessage(text=told) if told else None), ()
    try:
        found = _Answered.model_validate(raw)
        chosen = _Quote.model_validate(message.get("quote") or {}).text
    except ValidationError:
        return None, ()
    if found.forum_topic_created is not None:
        return None, ()  # every message of a topic "answers" the topic's creation
    told, files = media.parse_media(raw)
    about = told or "\n".join(f"[{item.about}]" for item in files)
    text = "\n".join(filter(None, (chosen or found.text or found.caption, about)))
    if not text.strip():
        return None, ()
    writer = "" if found.writer is None else str(found.writer.id)
    by = {sender: "sender", bot: "agent"}.get(writer, "other")
    quote = QuotedMessage.model_validate({"by": by, "author": found.name, "text": text})
    return quote, tuple(item for item in files if not item.voice)


def format_source(message: JsonObject) -> str:
    """Return the line that says whose words a repeated message has; empty for any other."""
    if message.get("via_bot") is not None:
        return "[chosen from what an inline bot offered]"
    if message.get("forward_origin") is None and message.get("forward_date") is None:
        return ""
    try:
        name = _Origin.model_validate(message.get("forward_origin") or {}).name
    except ValidationError:
        name = ""
    return f"[forwarded from {name}]" if name else "[forwarded]"
