"""The interface between channels and the rest of the daemon.

Delivery sends through `Adapter`; an adapter hands received messages to `Intake`. Both are small,
so that a chat system is one package.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, NamedTuple, Protocol, TypeAlias

from orchestrator.errors import OrchestratorError
from thinker.protocol.messages import Origin, QuotedMessage, WhileBusy

# What a person may do in chats, least first: talk, decide about calls of the own chat, everything.
ChatRole: TypeAlias = Literal["talk", "approve", "operate"]
ROLES: tuple[ChatRole, ...] = ("talk", "approve", "operate")
MAX_HOLD = 3600.0  # seconds after which a platform that asked to wait longer is tried again
# Kinds of an `InboundMessage` besides a plain message: a new wording of one, its removal by its
# sender, and a button that was pressed.
EDIT, REMOVAL, PRESS = "edit", "removal", "press"
NOT_ADDRESSED = "not addressed"  # why admission refuses what people say to each other
MAX_FILE = 20 * 1024 * 1024  # bytes of a file that is received or sent; what a bot may download
UPLOAD_RATE = 100_000  # bytes a second; a slower upload is given up


class Attachment(NamedTuple):
    """A file that came with a message; its channel downloads it by ``handle``.

    ``about`` says what it is where its content cannot be shown: ``photo, 1280x960``. One without a
    ``name`` can only be a picture. A channel that has the bytes already gives them as ``data``. A
    ``voice`` message is what its sender says instead of writing it.
    """

    handle: str
    about: str
    name: str = ""
    data: bytes | None = None
    voice: bool = False


@dataclass(frozen=True)
class InboundMessage:
    """One update of a chat system.

    ``update_id`` and ``message_id`` are the platform's; together with ``edit_date`` (seconds, 0 for
    a first version) they identify an update that arrives twice. ``skip`` is the reason why no agent
    should see it (``"no text"``); ``notice``, if any, is sent to the chat in that case. In a chat
    that is not ``private``, admission uses the adapter's flags: ``mentioned`` says whether the text
    names the bot, as the platform knows it, ``replied_to_bot`` whether it answers one of its
    messages, ``from_bot`` whether another bot wrote it. ``personal`` says whether ``sender_id`` is
    a person, and not a group or channel in whose name its administrators write. ``target`` chooses
    an agent without the bindings (the console does). Messages with the same ``album`` were sent as
    one. ``origin`` is who wrote the text: a forwarded one is of others, and never a command.
    ``quote`` is what the message answers, ``reply_to`` its id in this chat. The text of a `PRESS`
    is the button's data and the number of its message. ``operator`` and ``while_busy``, what it
    does to an answer that is being written, are left to admission and to the agent if None.
    """

    channel: str
    bot_id: str
    chat_id: str
    message_id: str
    sender_id: str
    text: str = ""
    update_id: int | None = None
    thread_id: str | None = None
    edit_date: int = 0
    kind: str = "message"
    private: bool = True
    mentioned: bool = False
    replied_to_bot: bool = False
    from_bot: bool = False
    personal: bool = True
    sender_name: str = ""
    target: str | None = None
    skip: str | None = None
    notice: str | None = None
    attachments: tuple[Attachment, ...] = ()
    album: str | None = None
    origin: Origin = "user"
    operator: bool | None = None
    while_busy: WhileBusy | None = None
    quote: QuotedMessage | None = None
    reply_to: str | None = None


class ReplyPart(NamedTuple):
    """A part of a reply: Markdown, or plain text with its ``rendered`` form.

    ``rendered`` is in the platform's own markup. A reply that was cut has it, since Markdown cannot
    be cut anywhere.
    """

    text: str
    rendered: str | None = None


class Choice(NamedTuple):
    """A button below a message. Channels without buttons omit it, and the text says the rest.

    Pressing the button sends ``data``, of at most 64 bytes, in a `PRESS`.
    """

    label: str
    data: str


class OutboundFile(NamedTuple):
    """A file to send, as a ``voice`` message where the channel has them."""

    name: str
    media_type: str
    data: bytes
    voice: bool = False

    @property
    def seconds(self) -> float:
        """The extra seconds that sending the file may take."""
        return len(self.data) / UPLOAD_RATE


@dataclass(frozen=True)
class OutboundPart:
    """One message to send; ``text`` is Markdown when ``markdown`` is true.

    ``rendered``, if there is one, is sent instead of the text; see `ReplyPart`. An edit without
    ``choices`` removes those of the message. The text of a ``file`` is its caption. ``key`` is the
    same each time the message is sent, and no other message ever has it. The
    message was queued at ``queued_at`` (milliseconds since the epoch): no copy of it is older.
    """

    chat_id: str
    text: str
    thread_id: str | None = None
    markdown: bool = True
    reply_to: str | None = None
    rendered: str | None = None
    choices: tuple[Choice, ...] = ()
    file: OutboundFile | None = None
    key: str = ""
    queued_at: int = 0


class SendOutcome(StrEnum):
    """What a failed platform call means for the message."""

    NOT_SENT = "not_sent"  # it certainly did not arrive: send it again
    UNKNOWN = "unknown"  # it may have arrived: repeat it only where that does no harm
    PERMANENT = "permanent"  # it will never arrive: the chat is gone, the bot is blocked
    GONE = "gone"  # an edit whose message no longer exists: send a new one


class SendError(OrchestratorError):
    """A failed platform call.

    ``retry_after`` is how long the platform asks to wait, in seconds and at most `MAX_HOLD`.
    """

    def __init__(
        self, message: str, outcome: SendOutcome, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.outcome = outcome
        self.retry_after = None if retry_after is None else min(retry_after, MAX_HOLD)


@dataclass
class ChannelStatus:
    """The state of a channel in `orchestrator status`; ``last_ok`` in seconds since the epoch.

    ``withheld`` says why the platform withholds some group messages from the bot, and how to change
    that. ``refused`` counts refused messages that have no row in the journal.
    """

    name: str
    state: str = "starting"  # starting | ok | degraded | stopped | off: not in agents.json
    detail: str = ""
    last_ok: float | None = None
    withheld: str = ""
    refused: int = 0


class Intake(Protocol):
    """The inbound side, as adapters see it."""

    async def load_offset(self, channel: str, bot_id: str) -> int:
        """Return the next update number to request; 0 when none was ever stored."""

    async def load_cursor(self, channel: str, bot_id: str) -> str:
        """Return the cursor of a channel without update numbers; empty before its first message."""

    async def store_cursor(self, channel: str, bot_id: str, cursor: str) -> None:
        """Store the channel's cursor without a message."""

    async def accept(
        self, messages: Sequence[InboundMessage], offset: int | str | None = None
    ) -> Mapping[str, str]:
        """Store updates and the channel's next offset or cursor in one transaction (T1).

        Returns after the commit: only then may the adapter acknowledge. Returns the answer to each
        new `PRESS`, by its message id, for the person who pressed. No updates store no offset.
        """

    async def list_chat_moves(self, channel: str) -> dict[str, str]:
        """Return the first ids of the channel's moved chats, keyed by new id."""

    async def record_chat_move(self, channel: str, bot_id: str, old_id: str, new_id: str) -> None:
        """Store a chat's new id; until an adapter knows the id, it stores no update of the chat."""


class Adapter(Protocol):
    """One chat system."""

    status: ChannelStatus

    @property
    def name(self) -> str:
        """The channel's name in bindings: ``telegram``, ``console``."""

    @property
    def bot_id(self) -> str:
        """The bot account that the adapter uses; offsets and update numbers belong to it."""

    @property
    def can_edit(self) -> bool:
        """Whether sent messages can be changed, so that a reply can be streamed and repaired."""

    @property
    def can_show_files(self) -> bool:
        """Whether the channel's chats can show files; if not, `send` receives none."""

    @property
    def deduplicates(self) -> bool:
        """Whether a message that is sent twice with its key arrives only once."""

    @property
    def is_read_from_journal(self) -> bool:
        """Whether clients read replies from the journal, so that `send` only wakes them."""

    def is_delivered_when_stored(self, chat_id: str) -> bool:
        """Return whether a reply to a chat counts as delivered once it is stored (thread-safe)."""

    async def run(self, intake: Intake) -> None:
        """Receive messages until cancelled, despite any failure of the platform."""

    def split(self, text: str, mark: str = "") -> tuple[ReplyPart, ...]:
        """Cut a reply into parts that the platform accepts, in order.

        ``mark`` is plain text for the end of the first part.
        """

    async def wait_for_rate(self, chat_id: str) -> None:
        """Wait until the platform's rate admits one more `send` or `edit` for a chat."""

    async def send(self, part: OutboundPart) -> str:
        """Send one part and return the platform's id of the message.

        Raises:
            SendError: the call failed; the error says what is known about the message.
        """

    async def edit(self, part: OutboundPart, message_id: str) -> None:
        """Change a sent message; "not modified" counts as success.

        Raises:
            SendError: the call failed; the error says what is known about the message.
        """

    async def remove(self, chat_id: str, message_id: str) -> None:
        """Remove a sent message from its chat.

        Raises:
            SendError: the message stays, or it is unknown whether it does.
        """

    async def download(self, handle: str, limit: int) -> bytes:
        """Download an attachment of at most ``limit`` bytes.

        Raises:
            SendError: the download failed for now (``NOT_SENT``) or permanently (``PERMANENT``).
        """

    def show_unfinished_answer(self, chat_id: str, text: str) -> None:
        """Show an unfinished answer to waiting clients; the delivery comes later."""

    def wake_waiting_clients(self, chat_id: str) -> None:
        """Wake clients waiting in a chat: a turn has ended and its reply is stored."""

    async def show_typing(self, chat_id: str, thread_id: str | None) -> None:
        """Show for about five seconds that an answer is being written.

        Raises:
            SendError: the call failed, which is harmless.
        """
