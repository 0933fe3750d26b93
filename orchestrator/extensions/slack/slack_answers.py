"""Answers of Slack's Web API."""

from pydantic import JsonValue, ValidationError, field_validator

from orchestrator.extensions.slack.slack_events import (
    SlackFile,
    SlackMessage,
    SlackObject,
    Timestamp,
)


class SlackIdentity(SlackObject):
    """The owner of a token, and Slack's clock."""

    user_id: str
    bot_id: str = ""
    now: Timestamp


class _NextCursor(SlackObject):
    next_cursor: str = ""


class SlackPage(SlackObject):
    """A page of a list, and the cursor of the next one."""

    response_metadata: _NextCursor = _NextCursor()


class SlackChat(SlackObject):
    """A chat that the bot is in."""

    id: str
    is_im: bool = False


class SlackChats(SlackPage):
    """A page of chats."""

    channels: tuple[SlackChat, ...] = ()


class SlackHistory(SlackPage):
    """A page of messages: of a chat, newest first; of a thread, its root first."""

    messages: tuple[SlackMessage, ...] = ()

    @field_validator("messages", mode="before")
    @classmethod
    def _drop_unreadable(cls, value: JsonValue) -> list[SlackMessage]:
        """Drop unreadable entries, so that they do not hide the others."""
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
    """A person, as in ``users.info``."""

    user: _User

    @property
    def shown_name(self) -> str:
        """The displayed name."""
        profile = self.user.profile
        return profile.display_name or profile.real_name or self.user.name


class SlackSentMessage(SlackObject):
    """A sent message."""

    ts: str = ""


class SlackTicket(SlackObject):
    """The upload address and id of a file."""

    upload_url: str
    file_id: str


class SlackFileInfo(SlackObject):
    """A file, as in ``files.info``."""

    file: SlackFile


class SlackConnectionAddress(SlackObject):
    """The address of a new connection."""

    url: str
