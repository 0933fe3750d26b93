"""Errors of the Bot API, and their meaning for a message.

Where: is a Telegram API error classified?
"""

from pydantic import BaseModel, ConfigDict, Field

from orchestrator.channel_api import SendError, SendOutcome

_NOT_FOUND = 404
_CONFLICT = 409
_TOKEN_REFUSED = (401, _NOT_FOUND)  # an unknown token, a malformed one
_UNSUPPORTED = (400, _NOT_FOUND, 405, 501)  # answers to an unknown method
_NOT_SENT = (401, _NOT_FOUND, _CONFLICT, 429)  # never caused by the message
_GONE = ("message to edit not found", "message can't be edited", "message_id_invalid")
_UNCHANGED = ("message is not modified", "message_not_modified")
_BAD_FILE = (
    "photo_invalid_dimensions",
    "photo_ext_invalid",
    "image_process_failed",
    "voice_messages_forbidden",
    "not enough rights to send voice",
)
_BAD_FORMAT = ("can't parse entities", "message is too long")


class BotResult(BaseModel):
    """Base of Telegram's results; unknown fields are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Parameters(BotResult):
    """Additional fields of an error."""

    retry_after: float | None = Field(None, ge=0)
    migrate_to_chat_id: int | None = None


class BotApiError(SendError):
    """A failed call; ``code`` is Telegram's error code, 0 if there was no answer."""

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
        self.new_chat_id = parameters.migrate_to_chat_id  # of a group that became a supergroup

    @property
    def is_token_refused(self) -> bool:
        """Whether the token is unknown; valid for calls without parameters."""
        return self.code in _TOKEN_REFUSED

    @property
    def is_unsupported(self) -> bool:
        """Whether the method is unknown; valid for calls without parameters."""
        return self.code in _UNSUPPORTED

    @property
    def is_conflict(self) -> bool:
        return self.code == _CONFLICT

    @property
    def is_unchanged(self) -> bool:
        return any(words in str(self).lower() for words in _UNCHANGED)

    @property
    def can_retry_unformatted(self) -> bool:
        """Whether the text might be accepted without formatting."""
        return any(words in str(self).lower() for words in _BAD_FORMAT)

    @property
    def can_retry_as_document(self) -> bool:
        """Whether a picture or a sound might be accepted as a document."""
        return any(words in str(self).lower() for words in _BAD_FILE)


def classify_error(method: str, code: int, description: str | None) -> SendOutcome:
    """Classify an error; ``description`` is None if the Bot API did not send it."""
    words = (description or "").lower()
    if any(gone in words for gone in _GONE) or (code == _NOT_FOUND and method == "editMessageText"):
        return SendOutcome.GONE
    if code < 300 or code >= 500:  # noqa: PLR2004 - the bounds of HTTP's classes
        return SendOutcome.UNKNOWN
    if code in _NOT_SENT or description is None:
        return SendOutcome.NOT_SENT  # a proxy may have refused it, which decides nothing
    return SendOutcome.PERMANENT
