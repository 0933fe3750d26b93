"""The worker's side of the broker: connections to it, over a channel that carries descriptors.

For each connection the broker is sent one end of a new socketpair, so that a process without any
network can use it. A request is `REQUEST`, an address and a body, all in one piece. The answer
consists of frames, each a `FRAME` and its data. One call at a time uses a connection.
"""

import asyncio
import itertools
import os
import socket
from collections import deque
from collections.abc import AsyncIterator, Mapping
from functools import cache
from struct import Struct

import orjson

from thinker.http.exchange import (
    NO_HEADERS,
    BrokenAnswerError,
    ConnectError,
    HttpAnswer,
)

REQUEST = Struct("!HIQ")  # bytes of the address and of the body, number of the call
FRAME = Struct("!BI")  # kind and bytes of the data
HEAD = 1  # status and headers, as JSON
PIECE = 2  # of the body
END = 3  # of a whole answer
FAILURE = 4  # the name of the error that the broker had instead of an answer
UNREAD = 256 * 1024  # bytes received and not consumed at which reading pauses
FAILURES = {kind.__name__: kind for kind in (ConnectError, BrokenAnswerError)}


def frame(kind: int, data: bytes = b"") -> bytes:
    return FRAME.pack(kind, len(data)) + data


def head(status: int, headers: Mapping[str, str]) -> bytes:
    """Return the frame that an answer begins with."""
    return frame(HEAD, orjson.dumps([status, headers]))


class BrokerConnection(asyncio.Protocol):
    """One connection, with frames that have arrived and were not consumed."""

    transport: asyncio.Transport  # set when connected

    def __init__(self) -> None:
        self.lost = False
        self._data = bytearray()
        self._frames: deque[tuple[int, bytes]] = deque()
        self._unread = 0
        self._waiting: asyncio.Future[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.Transport):
            self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self.lost = True
        self._wake()

    def data_received(self, data: bytes) -> None:
        self._data += data
        at, size = 0, len(self._data)
        while size - at >= FRAME.size:
            kind, length = FRAME.unpack_from(self._data, at)
            begin = at + FRAME.size
            if size - begin < length:
                break
            at = begin + length
            self._frames.append((kind, bytes(self._data[begin:at])))
        del self._data[:at]
        self._unread += len(data)
        if self._unread > UNREAD:
            self.transport.pause_reading()
        if at:
            self._wake()

    @property
    def complete(self) -> bool:
        """Whether nothing but the end of the answer is to be read."""
        return bool(self._frames) and self._frames[0][0] == END

    async def next_frame(self) -> tuple[int, bytes]:
        """Wait for a frame; raise `BrokenAnswerError` if none will come."""
        while not self._frames:
            if self._unread > UNREAD:
                self.transport.resume_reading()
            self._unread = 0
            if self.lost:
                raise BrokenAnswerError("the broker ended the connection")
            self._waiting = asyncio.get_running_loop().create_future()
            try:
                await self._waiting
            finally:
                self._waiting = None
        return self._frames.popleft()

    def more(self) -> bytes:
        """Return what has arrived of the body after the last frame."""
        pieces = []
        while self._frames and self._frames[0][0] == PIECE:
            pieces.append(self._frames.popleft()[1])
        return b"".join(pieces)

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)


class BrokerLink:
    """The process's way to the broker: its requests go over ``channel``.

    A broker that starts later finds them there. A caller bounds how long a request may take.
    """

    def __init__(self, channel: socket.socket) -> None:
        self.channel = channel
        self._numbers = itertools.count(1)
        self._idle: list[BrokerConnection] = []

    async def send(
        self, method: str, url: str, headers: Mapping[str, str] = NO_HEADERS, body: bytes = b""
    ) -> HttpAnswer:
        """Let the broker post a body; see `Network.send`. It adds all headers itself."""
        del method, headers
        number, target = next(self._numbers), url.encode()
        connection = await self._take()
        try:
            parts = REQUEST.pack(len(target), len(body), number), target, body
            connection.transport.write(b"".join(parts))
            kind, data = await connection.next_frame()
        except BaseException:
            connection.transport.abort()
            raise
        if kind == FAILURE:
            self._idle.append(connection)
            raise FAILURES.get(data.decode(), BrokenAnswerError)("the broker's request failed")
        status, answered = orjson.loads(data)
        answer = _BrokeredAnswer(status, answered, connection, self._idle)
        answer.call_id = str(number)
        return answer

    def close(self) -> None:
        while self._idle:
            self._idle.pop().transport.abort()

    async def _take(self) -> BrokerConnection:
        while self._idle:
            connection = self._idle.pop()
            if not connection.lost:
                return connection
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                socket.send_fds(self.channel, [b"."], [theirs.fileno()], socket.MSG_DONTWAIT)
            except OSError as error:  # the channel is full or gone
                ours.close()
                raise ConnectError(str(error)) from error
        ours.setblocking(False)  # noqa: FBT003 - the standard library takes it by position
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(BrokerConnection, sock=ours)
        return connection


class _BrokeredAnswer(HttpAnswer):
    """An answer that the broker passes on."""

    def __init__(
        self,
        status: int,
        headers: Mapping[str, str],
        connection: BrokerConnection,
        idle: list[BrokerConnection],
    ) -> None:
        super().__init__(status, headers)
        self._connection, self._idle = connection, idle
        self._ended = False

    @property
    def complete(self) -> bool:
        return self._ended or self._connection.complete

    async def pieces(self) -> AsyncIterator[bytes]:
        connection = self._connection
        while not self._ended:
            kind, data = await connection.next_frame()
            if kind == PIECE:
                yield data + connection.more()
            elif kind == END:
                self._ended = True
                self._idle.append(connection)
            else:
                raise BrokenAnswerError("the broker ended the answer")

    def close(self) -> None:
        """Keep the connection, whose answer was read to its end, or close it."""
        if not self._ended:
            self._ended = True
            self._connection.transport.abort()


@cache
def broker_link(fd: int) -> BrokerLink:
    """Return the process's link over an inherited descriptor."""
    os.set_inheritable(fd, False)  # noqa: FBT003 - the standard library takes it by position
    return BrokerLink(socket.socket(fileno=fd))
