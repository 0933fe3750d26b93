"""Models of the channels on which strangers can write: the bots on chat platforms."""

from typing import Literal, TypeAlias

from pydantic import ConfigDict, Field

from orchestrator.agentsfile.channel_kinds import ChannelKind
from orchestrator.agentsfile.field_types import (
    ConfigModel,
    HttpUrl,
    NumericId,
    OptionText,
    PlatformId,
)
from orchestrator.agentsfile.text_patterns import TextPattern

Access: TypeAlias = Literal["pairing", "allowlist", "open"]
GroupAnswer: TypeAlias = Literal["mention", "reply", "all"]


class ChatRules(ConfigModel):
    """What the bot answers in one group; what is absent is as in the other groups."""

    answer: tuple[GroupAnswer, ...] | None = None
    """Messages that it answers there; [] for none."""
    patterns: tuple[TextPattern, ...] | None = None
    """Regular expressions in messages that it answers there."""


class GroupRules(ConfigModel):
    """What the bot answers in groups, of what admitted people write there."""

    answer: tuple[GroupAnswer, ...] = ("mention", "reply")
    """Messages that it answers: "mention" names it, "reply" is to one of its own, "all" is any."""
    patterns: tuple[TextPattern, ...] = ()
    """Regular expressions: messages with one are answered too, in small or capital letters."""
    chats: dict[str, ChatRules] = Field(default_factory=dict)
    """Other rules for single groups, by their ids."""

    @property
    def listens(self) -> bool:
        """Whether it answers messages of a group that neither name the bot nor reply to it."""
        rules: tuple[GroupRules | ChatRules, ...] = (self, *self.chats.values())
        return any(rule.patterns or "all" in (rule.answer or ()) for rule in rules)

    def of(self, chat_id: str) -> "GroupRules":
        """Return the rules of a group."""
        own = self.chats.get(chat_id)
        return self if own is None else self.model_copy(update=own.model_dump(exclude_none=True))


class ChatChannel(ConfigModel):
    """A bot on a chat platform, and who may talk to it."""

    enabled: bool = True
    """Whether the channel runs."""
    access: Access = "pairing"
    """Unknown chats: "pairing" gives a code to approve, "allowlist" refuses, "open" admits."""
    allowlist: tuple[PlatformId, ...] = ()
    """The platform's ids of the users and chats that are admitted."""
    groups: GroupRules = GroupRules()
    """What the bot answers in groups; in a private chat it answers every message."""
    variables: dict[str, str] = Field(default_factory=dict)
    """Values of variables of prompt definitions, in every chat of this channel."""

    def is_person(self, chat_id: str) -> bool | None:
        """Return whether an id is that of a person, with whom the chat is private.

        None on platforms whose ids do not show it, where the messages of a chat do.
        """
        del chat_id
        return None

    def wrong_group(self, chat_id: str) -> str | None:
        """Return why no group of the platform has this id, and what to write; None if one may."""
        if self.is_person(chat_id):
            return "which is a person's id: private chats need no rule; remove it"
        return None


class WebhookSettings(ConfigModel):
    """Where Telegram pushes updates to; the endpoints of `channels.api` take them at /telegram."""

    url: HttpUrl
    """Address of a proxy that leads there: https, and port 443, 80, 88 or 8443."""


class TelegramChannel(ChatChannel):
    """The Telegram bot, and who may talk to it."""

    enabled: bool = True
    """Whether the channel runs (it also needs TELEGRAM_BOT_TOKEN)."""
    webhook: WebhookSettings | None = None
    """Lets Telegram push updates; without it the daemon asks for them, and needs no address."""
    allowlist: tuple[NumericId, ...] = ()
    """Numeric ids of the users and chats that are admitted; user names change hands."""

    @property
    def webhook_url(self) -> str | None:
        """Where Telegram is to push updates to; None if the daemon asks for them."""
        return self.webhook.url if self.enabled and self.webhook is not None else None

    def is_person(self, chat_id: str) -> bool:
        """Return whether an id is that of a person: groups and channels have negative ones."""
        return chat_id.isascii() and chat_id.isdecimal()

    def wrong_group(self, chat_id: str) -> str | None:
        """Return why no group has this id: they have negative numbers."""
        if chat_id[:1] == "-" and self.is_person(chat_id[1:]):
            return None
        return super().wrong_group(chat_id) or (
            "which is no numeric id; write the negative number that orchestrator status shows for"
            " the group's turns"
        )


class HostedSettings(ChatChannel):
    """An account at a chat system of the channel host; all other fields are options of its own."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, OptionText] = Field(init=False)

    def options(self, kind: ChannelKind) -> dict[str, str]:
        """Return the options of its chat system as texts, those that are not set by default."""
        defaults = {
            name: option.default
            for name, option in kind.options.items()
            if option.default is not None
        }
        return defaults | self.__pydantic_extra__
