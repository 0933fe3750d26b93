"""Matrix over matrix-nio: long polls of ``/sync`` in, messages with transaction ids out.

A homeserver keeps the transaction ids of a device: a message that is sent again with its own
arrives once. So what may have arrived is simply sent again.
"""

import base64
import io
from collections.abc import Mapping
from functools import partial
from typing import TypeVar

import aiohttp
import nio
from nio.api import MessageDirection
from pydantic import JsonValue

from orchestrator.channel_api import SendError, SendOutcome
from orchestrator.channelhost.channel_wire import MessageName, OutgoingMessage, ReceivedMessage
from orchestrator.channelhost.foreign_channel import ChannelInbox, readable
from orchestrator.channelhost.matrix.matrix_events import (
    VOICE,
    MatrixEvent,
    RoomView,
    message_content,
    parsed,
    received,
    since_invited,
)
from orchestrator.recent import Recent
from thinker.protocol.messages import FileContent

POLL_WAIT = 30_000  # milliseconds that the server may hold a poll
REQUEST_TIMEOUT = 45.0  # seconds; longer than a poll
TYPING = 5000  # milliseconds
MAX_GAP = 2000  # events of a room that are fetched when a poll leaves some out
GAP_PAGE = 100
REMEMBERED = 1000  # sent messages that are known as the bot's own
REFUSED = 60.0  # seconds until a refused token is tried again
FILTER = {
    "presence": {"types": []},
    "account_data": {"types": []},
    "room": {
        "timeline": {"limit": GAP_PAGE},
        "ephemeral": {"types": []},
        "account_data": {"types": []},
    },
}
TOKEN_REFUSED = "the homeserver refuses MATRIX_ACCESS_TOKEN; log in as the bot and copy a new one"  # noqa: S105 - a sentence
FOR_GOOD = frozenset(
    {"M_FORBIDDEN", "M_NOT_FOUND", "M_TOO_LARGE", "M_BAD_JSON", "M_NOT_JSON", "M_INVALID_PARAM"}
)
R = TypeVar("R")


def connect(options: Mapping[str, str], secrets: Mapping[str, str]) -> "MatrixChannel":
    """Return the channel; it connects when it runs."""
    return MatrixChannel(options["homeserver"], options["user"], secrets["MATRIX_ACCESS_TOKEN"])


class MatrixChannel:
    """One account at a homeserver."""

    def __init__(self, homeserver: str, user: str, token: str) -> None:
        config = nio.AsyncClientConfig(
            max_limit_exceeded=0, max_timeouts=0, request_timeout=REQUEST_TIMEOUT
        )
        self._client = nio.AsyncClient(homeserver.rstrip("/"), user, config=config)
        self._client.restore_login(user, "", token)
        self._user = user
        self._own = Recent[str, None](REMEMBERED)  # ids of sent messages

    # --- in --------------------------------------------------------------------------------------

    async def run(self, inbox: ChannelInbox) -> None:
        try:
            await self._receive(inbox)
        except aiohttp.ClientConnectionError as error:
            raise SendError(
                f"the homeserver cannot be reached: {error}; check channels.matrix.homeserver",
                SendOutcome.NOT_SENT,
            ) from error

    async def _receive(self, inbox: ChannelInbox) -> None:
        await self._introduce()
        cursor, whole = await inbox.cursor(), True
        while True:
            wait = 0 if whole else POLL_WAIT
            found = _checked(
                await self._client.sync(wait, FILTER, cursor or None, full_state=whole),
                nio.SyncResponse,
            )
            for room_id in found.rooms.invite:
                await self._client.join(room_id)  # one that fails is offered again after a restart
            if not cursor:
                await inbox.begin(found.next_batch)
            elif messages := await self._messages(found, cursor):
                await inbox.accept(messages, found.next_batch)
            cursor, whole = found.next_batch, False
            inbox.receiving()

    async def _introduce(self) -> None:
        """Make sure that the token is that of the account."""
        who = _checked(await self._client.whoami(), nio.WhoamiResponse)
        if who.user_id != self._user:
            raise SendError(
                f"MATRIX_ACCESS_TOKEN is that of {who.user_id}, but agents.json says"
                f" {self._user}; set channels.matrix.user to it",
                SendOutcome.NOT_SENT,
                REFUSED,
            )

    async def _messages(self, found: nio.SyncResponse, cursor: str) -> list[ReceivedMessage]:
        """Return what was said in all rooms, in the order of each room."""
        messages: list[ReceivedMessage] = []
        for room_id, info in found.rooms.join.items():
            events = parsed([event.source for event in info.timeline.events])
            said = since_invited(events, self._user)
            if info.timeline.limited and said is events:
                gap = await self._left_out(room_id, info.timeline.prev_batch, cursor)
                said = [*gap, *events]
            view = self._view(room_id)
            for event in said:
                answers_bot = await self._answers_bot(view, event)
                message = readable(partial(received, answers_bot=answers_bot), event, view)
                if message is not None:
                    messages.append(message)
        return messages

    async def _left_out(self, room_id: str, start: str, end: str) -> list[MatrixEvent]:
        """Return the events of a room that a poll left out, between two marks."""
        events: list[MatrixEvent] = []
        while start and len(events) < MAX_GAP:
            page = _checked(
                await self._client.room_messages(
                    room_id, start, end, MessageDirection.back, GAP_PAGE
                ),
                nio.RoomMessagesResponse,
            )
            events += parsed([event.source for event in page.chunk])
            if not page.chunk or not page.end:
                break
            start = page.end
        return events[::-1]

    def _view(self, room_id: str) -> RoomView:
        room = self._client.rooms[room_id]
        local = self._user.removeprefix("@").partition(":")[0]
        own = room.user_name(self._user) or ""
        return RoomView(
            room_id=room_id,
            private=room.member_count <= 2,  # noqa: PLR2004 - the bot and one person
            bot=self._user,
            bot_names=tuple(dict.fromkeys((self._user, own, f"@{local}", local))),
            names={name: user.display_name or name for name, user in room.users.items()},
        )

    async def _answers_bot(self, room: RoomView, event: MatrixEvent) -> bool:
        """Return whether an event answers a message of the bot; only groups need to know."""
        if room.private or not event.answers or event.answers in self._own:
            return bool(event.answers) and not room.private
        answer = await self._client.room_get_event(room.room_id, event.answers)
        return isinstance(answer, nio.RoomGetEventResponse) and answer.event.sender == self._user

    async def download(self, handle: str, limit: int) -> bytes:
        del limit  # the host checks it; a homeserver limits its files
        return bytes(_checked(await self._client.download(handle), nio.MemoryDownloadResponse).body)

    # --- out -------------------------------------------------------------------------------------

    async def send(self, message: OutgoingMessage) -> str:
        content = (
            message_content(message.text, message.html)
            if message.file is None
            else await self._uploaded(message.file, message.text, message.html)
        )
        if message.voice:
            content[VOICE] = {}
        relation = self._relation(message)
        if relation:
            content["m.relates_to"] = relation
        return await self._write(message.chat_id, content, message.key)

    async def edit(self, message: OutgoingMessage) -> None:
        new = message_content(message.text, message.html)
        replaced: dict[str, JsonValue] = {"rel_type": "m.replace", "event_id": message.message_id}
        content = {**new, "m.new_content": new, "m.relates_to": replaced}
        await self._write(message.chat_id, content, message.key)

    async def remove(self, message: MessageName) -> None:
        key = f"remove-{message.message_id}"
        answer = await self._client.room_redact(message.chat_id, message.message_id, tx_id=key)
        _checked(answer, nio.RoomRedactResponse)

    async def typing(self, chat: MessageName) -> None:
        answer = await self._client.room_typing(chat.chat_id, typing_state=True, timeout=TYPING)
        _checked(answer, nio.RoomTypingResponse)

    async def close(self) -> None:
        await self._client.close()

    async def _write(self, room_id: str, content: dict[str, JsonValue], key: str) -> str:
        answer = await self._client.room_send(room_id, "m.room.message", content, key)
        event_id = str(_checked(answer, nio.RoomSendResponse).event_id)
        self._own[event_id] = None
        return event_id

    def _relation(self, message: OutgoingMessage) -> dict[str, JsonValue]:
        room = self._client.rooms.get(message.chat_id)
        group = room is not None and room.member_count > 2  # noqa: PLR2004 - see `_view`
        answered = message.reply_to if group else None
        if message.thread_id:
            return {
                "rel_type": "m.thread",
                "event_id": message.thread_id,
                "is_falling_back": answered is None,
                "m.in_reply_to": {"event_id": answered or message.thread_id},
            }
        return {"m.in_reply_to": {"event_id": answered}} if answered else {}

    async def _uploaded(self, file: FileContent, text: str, html: str) -> dict[str, JsonValue]:
        data = base64.b64decode(file.data)
        answer, _ = await self._client.upload(
            io.BytesIO(data), file.media_type, file.name, filesize=len(data)
        )
        kind = file.media_type.partition("/")[0]
        content = message_content(text or file.name, html)
        content["msgtype"] = f"m.{kind}" if kind in ("image", "audio", "video") else "m.file"
        content["filename"] = file.name
        content["url"] = _checked(answer, nio.UploadResponse).content_uri
        content["info"] = {"mimetype": file.media_type, "size": len(data)}
        return content


def _checked(answer: object, expected: type[R]) -> R:
    """Return an answer of the homeserver.

    Raises:
        SendError: it is an error.
    """
    if isinstance(answer, expected):
        return answer
    code = getattr(answer, "status_code", None)
    words = getattr(answer, "message", "") or "the homeserver answered with something else"
    if code in ("M_UNKNOWN_TOKEN", "M_MISSING_TOKEN"):
        raise SendError(TOKEN_REFUSED, SendOutcome.NOT_SENT, REFUSED)
    if code == "M_LIMIT_EXCEEDED":
        wait = (getattr(answer, "retry_after_ms", None) or 1000) / 1000
        raise SendError(f"matrix: {words}", SendOutcome.NOT_SENT, wait)
    outcome = SendOutcome.PERMANENT if code in FOR_GOOD else SendOutcome.UNKNOWN
    raise SendError(f"matrix: {words}", outcome)
