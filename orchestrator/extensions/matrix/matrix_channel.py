"""Matrix over matrix-nio: long polls of ``/sync`` in, messages with transaction ids out.

A homeserver remembers a device's transaction ids: a message that is sent twice with the same id
arrives once. So a message that may have arrived is simply sent again.

Where: does a Matrix message come in?
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

from orchestrator.bounded_dict import BoundedDict
from orchestrator.channel_api import SendError, SendOutcome
from orchestrator.channelhost.channel_wire import MessageName, OutgoingMessage, ReceivedMessage
from orchestrator.channelhost.foreign_channel import ChannelInbox, try_read_message
from orchestrator.extensions.matrix.matrix_events import (
    VOICE,
    MatrixEvent,
    RoomView,
    build_message_content,
    convert_matrix_event,
    parse_events,
    select_since_invited,
)
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
        self._own = BoundedDict[str, None](REMEMBERED)  # ids of sent messages

    # --- in --------------------------------------------------------------------------------------

    async def run(self, inbox: ChannelInbox) -> None:
        try:
            await self._receive_events(inbox)
        except aiohttp.ClientConnectionError as error:
            raise SendError(
                f"the homeserver cannot be reached: {error}; check channels.matrix.homeserver",
                SendOutcome.NOT_SENT,
            ) from error

    async def _receive_events(self, inbox: ChannelInbox) -> None:
        await self._require_own_account()
        cursor, whole = await inbox.load_cursor(), True
        while True:
            wait = 0 if whole else POLL_WAIT
            found = _require_answer(
                await self._client.sync(wait, FILTER, cursor or None, full_state=whole),
                nio.SyncResponse,
            )
            for room_id in found.rooms.invite:
                await self._client.join(room_id)  # a failed one is offered again after a restart
            if not cursor:
                await inbox.store_cursor(found.next_batch)
            elif messages := await self._collect_messages(found, cursor):
                await inbox.store_messages(messages, found.next_batch)
            cursor, whole = found.next_batch, False
            inbox.report_receiving()

    async def _require_own_account(self) -> None:
        """Require that the token belongs to the account."""
        who = _require_answer(await self._client.whoami(), nio.WhoamiResponse)
        if who.user_id != self._user:
            raise SendError(
                f"MATRIX_ACCESS_TOKEN belongs to {who.user_id}, but agents.json says"
                f" {self._user}; set channels.matrix.user to it",
                SendOutcome.NOT_SENT,
                REFUSED,
            )

    async def _collect_messages(
        self, found: nio.SyncResponse, cursor: str
    ) -> list[ReceivedMessage]:
        """Return the new messages of all rooms, in each room's order."""
        messages: list[ReceivedMessage] = []
        for room_id, info in found.rooms.join.items():
            events = parse_events([event.source for event in info.timeline.events])
            said = select_since_invited(events, self._user)
            if info.timeline.limited and said is events:
                gap = await self._fetch_left_out_events(room_id, info.timeline.prev_batch, cursor)
                said = [*gap, *events]
            view = self._build_room_view(room_id)
            for event in said:
                answered = await self._fetch_answered_event(view, event)
                by_bot = event.answered_id in self._own
                by_bot |= answered is not None and answered.sender == self._user
                read = partial(
                    convert_matrix_event,
                    answers_bot=by_bot and not view.private,
                    answered=answered,
                )
                message = try_read_message(read, event, view)
                if message is not None:
                    messages.append(message)
        return messages

    async def _fetch_left_out_events(self, room_id: str, start: str, end: str) -> list[MatrixEvent]:
        """Fetch the events of a room that a poll left out, between two marks."""
        events: list[MatrixEvent] = []
        while start and len(events) < MAX_GAP:
            page = _require_answer(
                await self._client.room_messages(
                    room_id, start, end, MessageDirection.back, GAP_PAGE
                ),
                nio.RoomMessagesResponse,
            )
            events += parse_events([event.source for event in page.chunk])
            if not page.chunk or not page.end:
                break
            start = page.end
        return events[::-1]

    def _build_room_view(self, room_id: str) -> RoomView:
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

    async def _fetch_answered_event(self, room: RoomView, event: MatrixEvent) -> MatrixEvent | None:
        """Return the event that an event answers, if the homeserver shows it."""
        if not event.answered_id or event.sender == self._user:
            return None
        answer = await self._client.room_get_event(room.room_id, event.answered_id)
        if not isinstance(answer, nio.RoomGetEventResponse):
            return None
        return next(iter(parse_events([answer.event.source])), None)

    async def download(self, handle: str, limit: int) -> bytes:
        del limit  # the host checks it; a homeserver limits its files
        return bytes(
            _require_answer(await self._client.download(handle), nio.MemoryDownloadResponse).body
        )

    # --- out -------------------------------------------------------------------------------------

    async def send(self, message: OutgoingMessage) -> str:
        content = (
            build_message_content(message.text, message.html)
            if message.file is None
            else await self._upload_file(message.file, message.text, message.html)
        )
        if message.voice:
            content[VOICE] = {}
        relation = self._build_relation(message)
        if relation:
            content["m.relates_to"] = relation
        return await self._send_content(message.chat_id, content, message.key)

    async def edit(self, message: OutgoingMessage) -> None:
        new = build_message_content(message.text, message.html)
        replaced: dict[str, JsonValue] = {"rel_type": "m.replace", "event_id": message.message_id}
        content = {**new, "m.new_content": new, "m.relates_to": replaced}
        await self._send_content(message.chat_id, content, message.key)

    async def remove(self, message: MessageName) -> None:
        key = f"remove-{message.message_id}"
        answer = await self._client.room_redact(message.chat_id, message.message_id, tx_id=key)
        _require_answer(answer, nio.RoomRedactResponse)

    async def show_typing(self, chat: MessageName) -> None:
        answer = await self._client.room_typing(chat.chat_id, typing_state=True, timeout=TYPING)
        _require_answer(answer, nio.RoomTypingResponse)

    async def close(self) -> None:
        await self._client.close()

    async def _send_content(self, room_id: str, content: dict[str, JsonValue], key: str) -> str:
        answer = await self._client.room_send(room_id, "m.room.message", content, key)
        event_id = str(_require_answer(answer, nio.RoomSendResponse).event_id)
        self._own[event_id] = None
        return event_id

    def _build_relation(self, message: OutgoingMessage) -> dict[str, JsonValue]:
        room = self._client.rooms.get(message.chat_id)
        group = room is not None and room.member_count > 2  # noqa: PLR2004 - see `_build_room_view`
        answered = message.reply_to if group else None
        if message.thread_id:
            return {
                "rel_type": "m.thread",
                "event_id": message.thread_id,
                "is_falling_back": answered is None,
                "m.in_reply_to": {"event_id": answered or message.thread_id},
            }
        return {"m.in_reply_to": {"event_id": answered}} if answered else {}

    async def _upload_file(self, file: FileContent, text: str, html: str) -> dict[str, JsonValue]:
        data = base64.b64decode(file.data)
        answer, _ = await self._client.upload(
            io.BytesIO(data), file.media_type, file.name, filesize=len(data)
        )
        kind = file.media_type.partition("/")[0]
        content = build_message_content(text or file.name, html)
        content["msgtype"] = f"m.{kind}" if kind in ("image", "audio", "video") else "m.file"
        content["filename"] = file.name
        content["url"] = _require_answer(answer, nio.UploadResponse).content_uri
        content["info"] = {"mimetype": file.media_type, "size": len(data)}
        return content


def _require_answer(answer: object, expected: type[R]) -> R:
    """Return a successful answer of the homeserver.

    Raises:
        SendError: the answer is an error.
    """
    if isinstance(answer, expected):
        return answer
    code = getattr(answer, "status_code", None)
    words = getattr(answer, "message", "") or "the homeserver sent an unexpected answer"
    if code in ("M_UNKNOWN_TOKEN", "M_MISSING_TOKEN"):
        raise SendError(TOKEN_REFUSED, SendOutcome.NOT_SENT, REFUSED)
    if code == "M_LIMIT_EXCEEDED":
        wait = (getattr(answer, "retry_after_ms", None) or 1000) / 1000
        raise SendError(f"matrix: {words}", SendOutcome.NOT_SENT, wait)
    outcome = SendOutcome.PERMANENT if code in FOR_GOOD else SendOutcome.UNKNOWN
    raise SendError(f"matrix: {words}", outcome)
