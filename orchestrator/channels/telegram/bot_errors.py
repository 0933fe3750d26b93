"""What a failed call of the Bot API means for a message."""

from pydantic import BaseModel, ConfigDict, Field

from orchestrator.channel_api import SendError, SendOutcome

_NOT_FOUND = 404
_CONFLICT = 409
_REFUSED_TOKEN = (401, _NOT_FOUND)  # an unknown and a malformed token
_UNSUPPORTED = (400, _NOT_FOUND, 405, 501)  # how servers answer a method that they lack
_NOT_DONE = (401, _NOT_FOUND, _CONFLICT, 429)  # never the message's fault
_GONE = ("message to edit not found", "message can't be edited", "message_id_invalid")
_UNCHANGED = ("message is not modified", "message_not_modified")
_BAD_FORMAT = ("can't parse entities", "message is too long")


class Answered(BaseModel):
    """Base of what Telegram answers; fields that we do not read are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Parameters(Answered):
    """What goes with an error."""

    retry_after: float | None = Field(None, ge=0)
    migrate_to_chat_id: int | None = None


class BotApiError(SendError):
    """A call failed; ``code`` is Telegram's error code, 0 when none came."""

    def __init__(
        self,
        message: str,
        outcome: SendOutcome,
        code: int = 0,
        parameters: Parameters | None = None,
    ) -> None:
        parameters = parameters or Parameters()
        super().__init__(message, outcome, parameters.retry_after)
        self.code = code
        self.new_chat_id = parameters.migrate_to_chat_id

    @property
    def token_refused(self) -> bool:
        """Whether the server does not know the token (of a call that needs nothing else)."""
        return self.code in _REFUSED_TOKEN

    @property
    def unsupported(self) -> bool:
        """Whether the server lacks the method (of a call that cannot be wrong otherwise)."""
        return self.code in _UNSUPPORTED

    @property
    def conflict(self) -> bool:
        """Whether somebody else receives this bot's updates."""
        return self.code == _CONFLICT

    @property
    def unchanged(self) -> bool:
        """Whether an edit was refused because the message says that already."""
        return any(words in str(self).lower() for words in _UNCHANGED)

    @property
    def bad_format(self) -> bool:
        """Whether the text may be accepted without formatting."""
        return any(words in str(self).lower() for words in _BAD_FORMAT)


def outcome_of(method: str, code: int, description: str | None) -> SendOutcome:
    """What an error answer means; ``description`` is None when it is not the Bot API's."""
    words = (description or "").lower()
    if any(gone in words for gone in _GONE) or (code == _NOT_FOUND and method == "editMessageText"):
        return SendOutcome.GONE
    if code < 300 or code >= 500:  # noqa: PLR2004 - the bounds of HTTP's classes
        return SendOutcome.UNKNOWN
    if code in _NOT_DONE or description is None:
        return SendOutcome.NOT_SENT  # a refusal on the way, by a proxy for one, is no decision
    return SendOutcome.PERMANENT
