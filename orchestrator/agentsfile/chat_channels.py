"""Models of the channels on which strangers can write: the bots on chat platforms."""

from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import ConfigDict, Field, WithJsonSchema

from orchestrator.agentsfile.channel_kinds import ChannelKind
from orchestrator.agentsfile.channel_settings import ChannelSettings
from orchestrator.agentsfile.field_types import ConfigModel, OptionText, PlatformId
from orchestrator.agentsfile.text_patterns import TextPattern
from orchestrator.channel_api import ChatRole

Access: TypeAlias = Literal["pairing", "allowlist", "open"]
AccountFields: TypeAlias = Annotated[dict[str, Any], WithJsonSchema({"type": "object"})]
GroupAnswer: TypeAlias = Literal["mention", "reply", "all"]


class ChatRules(ConfigModel):
    """What the bot answers in one group; absent fields are as in all other groups."""

    answer: tuple[GroupAnswer, ...] | None = None
    """Messages that the bot answers there; [] for none."""
    patterns: tuple[TextPattern, ...] | None = None
    """Regular expressions; the bot answers messages there that match one."""


class GroupRules(ConfigModel):
    """What the bot answers in groups, among the messages of admitted people."""

    answer: tuple[GroupAnswer, ...] = ("mention", "reply")
    """Messages that the bot answers: "mention" names it, "reply" replies to it, "all" is any."""
    patterns: tuple[TextPattern, ...] = ()
    """Regular expressions; messages that match one, ignoring case, are answered too."""
    chats: dict[str, ChatRules] = Field(default_factory=dict)
    """Other rules for single groups, keyed by id."""

    @property
    def is_listening(self) -> bool:
        """Whether the bot answers messages of a group that neither name it nor reply to it."""
        rules: tuple[GroupRules | ChatRules, ...] = (self, *self.chats.values())
        return any(rule.patterns or "all" in (rule.answer or ()) for rule in rules)

    def find_group_rules(self, chat_id: str) -> "GroupRules":
        """Return the rules of a group."""
        own = self.chats.get(chat_id)
        return self if own is None else self.model_copy(update=own.model_dump(exclude_none=True))


class ChatChannel(ChannelSettings):
    """A bot on a chat platform, and who may talk to it."""

    title: ClassVar[str] = ""
    """The platform's name in messages."""

    access: Access = "pairing"
    """Unknown chats: "pairing" gives a code to approve, "allowlist" refuses, "open" admits."""
    allowlist: tuple[PlatformId, ...] = ()
    """The platform's ids of the users and chats that are admitted."""
    roles: dict[PlatformId, ChatRole] = Field(default_factory=dict)
    """What a user, or everyone in a group, may do, keyed by id: "talk", "approve" or "operate"."""
    groups: GroupRules = GroupRules()
    """What the bot answers in groups; in a private chat it answers every message."""
    accounts: dict[str, AccountFields] = Field(default_factory=dict)
    """Further bots, keyed by account: fields of this channel that differ for the account."""

    @classmethod
    def is_chat_id(cls, chat_id: str, *, written_to: bool = False) -> bool:
        """Return whether a chat can have this id; ``written_to`` if messages go there."""
        del chat_id, written_to
        return True

    def is_person(self, chat_id: str) -> bool | None:
        """Return whether an id belongs to a person, whose chat is private.

        None on platforms whose ids do not show it, where the messages of a chat do.
        """
        del chat_id
        return None

    def check_group_id(self, chat_id: str) -> str | None:
        """Return the problem of a group's id and what to write instead; None if it is possible."""
        if self.is_person(chat_id):
            return "which is a person's id: private chats need no rule; remove it"
        return None


class HostedSettings(ChatChannel):
    """An account at a chat system of the channel host; all other fields are its options."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, OptionText] = Field(init=False)

    def format_options(self, kind: ChannelKind) -> dict[str, str]:
        """Return the options of its chat system as text, except those with their default value."""
        defaults = {
            name: option.default
            for name, option in kind.options.items()
            if option.default is not None
        }
        return defaults | self.__pydantic_extra__
