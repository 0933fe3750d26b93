"""The wire between supervisor and a channel host.

Supervisor to channel host: ``message/send``, ``message/edit``, ``message/remove``, ``typing/show``,
``file/download`` and, as to every child process, ``ping`` (requests). Channel host to supervisor:
``channel/cursor``, ``messages/accept`` (requests); ``ready``, ``channel/state`` (notifications).
"""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field, StringConstraints

from orchestrator.channel_api import SendOutcome
from thinker.protocol.messages import FileContent, Frozen, QuotedMessage

SEND = "message/send"  # OutgoingMessage → CallReport
EDIT = "message/edit"  # OutgoingMessage → CallReport
REMOVE = "message/remove"  # MessageName → CallReport
TYPING = "typing/show"  # MessageName → CallReport
DOWNLOAD = "file/download"  # WantedDownload → CallReport
CURSOR = "channel/cursor"  # → ChannelCursor
ACCEPT = "messages/accept"  # ReceivedBatch → null
STATE = "channel/state"  # notification ChannelState

FD_VARIABLE = "ORCHESTRATOR_CHANNELHOST_FD"
LOG_VARIABLE = "ORCHESTRATOR_LOG_LEVEL"
OPTIONS_VARIABLE = "ORCHESTRATOR_CHANNEL_OPTIONS"  # JSON of the options in agents.json
MAX_TEXT = 100_000  # characters of a message that is received
MAX_ID = 512  # characters; a Matrix event id has 255 at most
MAX_BATCH = 100  # messages
MAX_SENT_FILE = 11 * 1024 * 1024  # bytes; one line of the wire holds it as base64

ForeignId: TypeAlias = Annotated[str, StringConstraints(max_length=MAX_ID)]


class ReceivedFile(Frozen):
    """A file that came with a message; see `orchestrator.channel_api.Attachment`."""

    handle: Annotated[str, StringConstraints(max_length=4096)]
    about: Annotated[str, StringConstraints(max_length=1000)]
    name: Annotated[str, StringConstraints(max_length=255)] = ""
    voice: bool = False


class ReceivedMessage(Frozen):
    """A message as its chat system has it; see `orchestrator.channel_api.InboundMessage`.

    An adapter may leave out what its chat system does not have. ``origin`` is ``other_user`` for
    what the sender passes on; such text is never a command. A ``removal`` says that the message
    was deleted; only its chat and its id count then.
    """

    chat_id: ForeignId
    message_id: ForeignId
    sender_id: ForeignId
    sender_name: Annotated[str, StringConstraints(max_length=255)] = ""
    text: str = ""
    thread_id: ForeignId | None = None
    edit_date: int = 0
    private: bool = True
    mentioned: bool = False
    replied_to_bot: bool = False
    from_bot: bool = False
    personal: bool = True
    origin: Literal["user", "other_user"] = "user"
    quote: QuotedMessage | None = None
    reply_to: ForeignId | None = None
    kind: Literal["message", "removal"] = "message"
    skip: str | None = None
    notice: str | None = None
    attachments: tuple[ReceivedFile, ...] = ()


class ReceivedBatch(Frozen):
    """Messages in order, maybe none, and the channel's cursor once they are stored."""

    messages: Annotated[tuple[ReceivedMessage, ...], Field(max_length=MAX_BATCH)]
    cursor: str


class ChannelCursor(Frozen):
    """A channel's cursor; empty before its first message."""

    cursor: str = ""


class ChannelState(Frozen):
    """Whether messages are received, and the problem if not; while starting, that which ends it."""

    state: Literal["starting", "ok", "degraded"]
    detail: str = ""


class OutgoingMessage(Frozen):
    """A message to send, or the new content of the sent one with ``message_id``.

    ``text`` is plain; ``html``, if there is any, is the same with the few tags that
    `orchestrator.channels.formatting` writes. See `orchestrator.channel_api.OutboundPart`.
    """

    chat_id: str
    text: str
    html: str = ""
    thread_id: str | None = None
    reply_to: str | None = None
    key: str = ""
    queued_at: int = 0
    file: FileContent | None = None
    voice: bool = False
    message_id: str = ""


class MessageName(Frozen):
    """A chat, with a thread or a message in it."""

    chat_id: str
    thread_id: str | None = None
    message_id: str = ""


class WantedDownload(Frozen):
    """A received file, by its handle, of at most ``limit`` bytes."""

    handle: str
    limit: int


class CallReport(Frozen):
    """The outcome of a call: the id of a sent message, a file in base64, or a failure.

    ``retry_after`` in seconds.
    """

    message_id: str = ""
    data: str = ""
    outcome: SendOutcome | None = None
    problem: str = ""
    retry_after: float | None = None
