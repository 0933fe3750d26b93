"""Settings of the Telegram bot."""

import re
from typing import ClassVar

from pydantic import Field

from orchestrator.agentsfile.chat_channels import ChatChannel
from orchestrator.agentsfile.field_types import ConfigModel, HttpUrl, NumericId
from orchestrator.channel_api import ChatRole

NUMBER = re.compile(r"-?[0-9]+")
PUBLIC_NAME = re.compile(r"@[A-Za-z]\w{3,31}", re.ASCII)  # of a channel that can be written to


class WebhookSettings(ConfigModel):
    """Where Telegram pushes updates to; the endpoints of `channels.api` take them at /telegram."""

    url: HttpUrl
    """Address of a proxy that leads there: https, and port 443, 80, 88 or 8443."""


class TelegramChannel(ChatChannel):
    """The Telegram bot, and who may talk to it."""

    title: ClassVar[str] = "Telegram"

    enabled: bool = True
    """Whether the channel runs (it also needs TELEGRAM_BOT_TOKEN, and each account its own)."""
    webhook: WebhookSettings | None = None
    """Lets Telegram push updates; without it the daemon asks for them, and needs no address."""
    allowlist: tuple[NumericId, ...] = ()
    """Numeric ids of the users and chats that are admitted; user names change hands."""
    roles: dict[NumericId, ChatRole] = Field(default_factory=dict)
    """What a user, or everyone in a group, may do, keyed by id: "talk", "approve" or "operate"."""

    @property
    def webhook_url(self) -> str | None:
        """The address for pushed updates; None if the daemon polls."""
        return self.webhook.url if self.enabled and self.webhook is not None else None

    @property
    def opens_endpoints(self) -> bool:
        """Whether Telegram pushes updates to the port of the HTTP API."""
        return self.webhook_url is not None

    @classmethod
    def is_chat_id(cls, chat_id: str, *, written_to: bool = False) -> bool:
        """Return whether a chat can have an id: a number, or a public name to write to."""
        named = written_to and PUBLIC_NAME.fullmatch(chat_id) is not None
        return named or NUMBER.fullmatch(chat_id) is not None

    def is_person(self, chat_id: str) -> bool:
        """Return whether an id is a person's: groups and channels have negative ones."""
        return chat_id.isascii() and chat_id.isdecimal()

    def check_group_id(self, chat_id: str) -> str | None:
        """Return the reason why no group has this id, or None: groups have negative numbers."""
        if chat_id[:1] == "-" and self.is_person(chat_id[1:]):
            return None
        return super().check_group_id(chat_id) or (
            "which is not a numeric id; write the negative number that orchestrator status shows"
            " for the group's turns"
        )


class TelegramChannels(ConfigModel):
    """Telegram's entries in `channels`."""

    telegram: TelegramChannel = TelegramChannel()
    """The Telegram bot."""
