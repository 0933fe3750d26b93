"""What calls of Slack's Web API answer."""

from pydantic import JsonValue, ValidationError, field_validator

from orchestrator.channelhost.slack.slack_events import (
    SlackFile,
    SlackMessage,
    SlackObject,
    Timestamp,
)


class SlackIdentity(SlackObject):
    """Whose token it is, and Slack's clock."""

    user_id: str
    bot_id: str = ""
    now: Timestamp


class _Next(SlackObject):
    next_cursor: str = ""


class SlackPage(SlackObject):
    """A page of a list, and the cursor of the next one."""

    response_metadata: _Next = _Next()


class SlackChat(SlackObject):
    """A chat in which the bot is."""

    id: str
    is_im: bool = False


class SlackChats(SlackPage):
    """A page of chats."""

    channels: tuple[SlackChat, ...] = ()


class SlackHistory(SlackPage):
    """A page of messages: of a chat the newest first, of a thread its root first."""

    messages: tuple[SlackMessage, ...] = ()

    @field_validator("messages", mode="before")
    @classmethod
    def _readable(cls, value: JsonValue) -> list[SlackMessage]:
        """Leave out what cannot be read, so that it does not hide the others."""
        found = []
        for message in value if isinstance(value, list) else []:
            try:
                found.append(SlackMessage.model_validate(message))
            except ValidationError:
                continue
        return found


class _Profile(SlackObject):
    display_name: str = ""
    real_name: str = ""


class _User(SlackObject):
    name: str = ""
    profile: _Profile = _Profile()


class SlackPerson(SlackObject):
    """A person, as ``users.info`` says."""

    user: _User

    @property
    def shown_name(self) -> str:
        """The name that others see."""
        profile = self.user.profile
        return profile.display_name or profile.real_name or self.user.name


class SlackPosted(SlackObject):
    """What was sent."""

    ts: str = ""


class SlackTicket(SlackObject):
    """Where the bytes of a file go, and its id."""

    upload_url: str
    file_id: str


class SlackFileInfo(SlackObject):
    """A file, as ``files.info`` says."""

    file: SlackFile


class SlackOpened(SlackObject):
    """Where to connect to."""

    url: str
