"""The bot on Pigeon.

The server numbers all letters of the loft. A connection says who it is and from which number on it
wants to hear; requests have an id, and their answers have it too.
"""

import base64
import json
from collections.abc import Mapping
from typing import Any

import anyio
from anyio.abc import SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

from orchestrator.channel_api import SendError, SendOutcome
from orchestrator.channelhost.channel_wire import (
    MessageName,
    OutgoingMessage,
    ReceivedFile,
    ReceivedMessage,
)
from orchestrator.channelhost.foreign_channel import ChannelInbox, try_read_message

LONGEST = 64 * 1024  # bytes of a line
Json = dict[str, Any]


class PigeonChannel:
    """One bot in one loft (`orchestrator.channelhost.foreign_channel.ForeignChannel`)."""

    def __init__(self, server: str, token: str) -> None:
        host, _, port = server.rpartition(":")
        self._place, self._token = (host, int(port)), token

    async def run(self, inbox: ChannelInbox) -> None:
        """Receive letters, each stored before the next is looked at."""
        cursor = await inbox.load_cursor()
        async with await self._connect() as stream:
            await _write(stream, {"listen": self._token, "after": int(cursor) if cursor else None})
            lines = BufferedByteReceiveStream(stream)
            head = json.loads(await lines.receive_until(b"\n", LONGEST))
            if not cursor:
                await inbox.store_cursor(str(head["last"]))
            inbox.report_receiving()
            while True:
                letter = json.loads(await lines.receive_until(b"\n", LONGEST))
                found = try_read_message(_read_letter, letter)
                messages = [] if found is None else [found]
                await inbox.store_messages(messages, str(letter["number"]))

    async def send(self, message: OutgoingMessage) -> str:
        """Send a letter; the loft knows one by its key."""
        asked: Json = {"to": message.chat_id, "text": message.text, "key": message.key}
        if message.file is not None:
            asked |= {"file": message.file.data, "name": message.file.name}
        answer = await self._ask({"send": self._token, **asked})
        return str(answer["id"])

    async def edit(self, message: OutgoingMessage) -> None:
        """Rewrite a letter."""
        await self._ask({"rewrite": self._token, "id": message.message_id, "text": message.text})

    async def remove(self, message: MessageName) -> None:
        """Burn a letter."""
        await self._ask({"burn": self._token, "id": message.message_id})

    async def show_typing(self, chat: MessageName) -> None:
        """Do nothing: a pigeon on its way is not seen."""

    async def download(self, handle: str, limit: int) -> bytes:
        """Fetch what a letter brought."""
        answer = await self._ask({"fetch": self._token, "id": handle})
        data = base64.b64decode(str(answer["file"]))
        if len(data) > limit:
            raise SendError(f"the file is over {limit} bytes", SendOutcome.PERMANENT)
        return data

    async def close(self) -> None:
        """Do nothing: each call closes its connection."""

    async def _connect(self) -> SocketStream:
        try:
            return await anyio.connect_tcp(*self._place)
        except OSError as error:
            raise SendError(f"the loft is not reached: {error}", SendOutcome.NOT_SENT) from error

    async def _ask(self, question: Json) -> Json:
        """Ask the loft on a connection of its own.

        Raises:
            SendError: it refused, or the answer was lost.
        """
        async with await self._connect() as stream:
            try:
                await _write(stream, question)
                lines = BufferedByteReceiveStream(stream)
                answer: Json = json.loads(await lines.receive_until(b"\n", LONGEST))
            except (OSError, anyio.EndOfStream, anyio.IncompleteRead) as error:
                raise SendError("the loft did not answer", SendOutcome.UNKNOWN) from error
        if "refused" in answer:
            raise SendError(str(answer["refused"]), SendOutcome.PERMANENT)
        return answer


def connect(options: Mapping[str, str], secrets: Mapping[str, str]) -> PigeonChannel:
    """Make the channel from agents.json and its secrets."""
    return PigeonChannel(options["server"], secrets["PIGEON_TOKEN"])


def _read_letter(letter: Json) -> ReceivedMessage | None:
    if letter["from"] == "bot":
        return None
    return ReceivedMessage(
        chat_id=letter["chat"],
        message_id=letter["id"],
        sender_id=letter["from"],
        sender_name=letter["from"].title(),
        text=letter["text"],
        attachments=(ReceivedFile(handle=letter["id"], about="file", name=letter["name"]),)
        if letter["name"]
        else (),
    )


async def _write(stream: SocketStream, line: Json) -> None:
    await stream.send(json.dumps(line).encode() + b"\n")
