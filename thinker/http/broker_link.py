"""The worker's side of the broker: connections over a channel that carries descriptors.

For each connection the broker is sent one end of a new socketpair, so that a process without any
network can use the broker. A request is `REQUEST`, an address and a body, all in one piece. The
answer consists of frames, each a `FRAME` and its data. One call at a time uses a connection.
"""

import asyncio
import itertools
import os
import socket
from collections.abc import Mapping
from functools import cache
from struct import Struct

import orjson

from thinker.http.connections import Connections, KeptConnection, PooledAnswer
from thinker.http.exchange import NO_HEADERS, BrokenAnswerError, ConnectError, HttpAnswer

REQUEST = Struct("!HIQ")  # bytes of the address and of the body, number of the call
FRAME = Struct("!BI")  # kind and bytes of the data
HEAD = 1  # status and headers, as JSON
PIECE = 2  # of the body
END = 3  # of a whole answer
FAILURE = 4  # the name of the broker's error, in place of an answer
FAILURES = {kind.__name__: kind for kind in (ConnectError, BrokenAnswerError)}


def pack_frame(kind: int, data: bytes = b"") -> bytes:
    return FRAME.pack(kind, len(data)) + data


def pack_head(status: int, headers: Mapping[str, str]) -> bytes:
    """Return the first frame of an answer."""
    return pack_frame(HEAD, orjson.dumps([status, headers]))


class BrokerConnection(KeptConnection):
    """One connection to the broker."""

    def __init__(self) -> None:
        super().__init__()
        self._data = bytearray()
        self._first: tuple[int, bytes] | None = None  # frame of the answer: its head, or a failure

    def accept_data(self, data: bytes) -> None:
        self._data += data
        at, size = 0, len(self._data)
        while size - at >= FRAME.size:
            kind, length = FRAME.unpack_from(self._data, at)
            begin = at + FRAME.size
            if size - begin < length:
                break
            at = begin + length
            if kind == PIECE:
                self.pieces.append(bytes(self._data[begin:at]))
            elif kind != END:
                self._first = kind, bytes(self._data[begin:at])
            self.ended = kind in {END, FAILURE}
        del self._data[:at]

    async def send_request(self, request: bytes) -> tuple[int, bytes]:
        """Send a request; return the kind and data of the first frame of its answer."""
        self._first, self.ended = None, False
        self.transport.write(request)
        while self._first is None:
            await self.wait_for_data()
        return self._first


class BrokerLink:
    """The process's link to the broker, over ``channel``.

    A broker that starts later finds the requests in the channel. Callers limit their time.
    """

    def __init__(self, channel: socket.socket) -> None:
        self.channel = channel
        self._numbers = itertools.count(1)
        self._pool = Connections(self._open_connection)

    async def send(
        self, method: str, url: str, headers: Mapping[str, str] = NO_HEADERS, body: bytes = b""
    ) -> HttpAnswer:
        """Have the broker post ``body`` with the broker's own headers; see `Network.send`."""
        del method, headers
        number, target = next(self._numbers), url.encode()
        request = b"".join((REQUEST.pack(len(target), len(body), number), target, body))
        connection = await self._pool.take_connection()
        try:
            kind, data = await connection.send_request(request)
        except BaseException:
            connection.abort_connection()
            raise
        if kind == FAILURE:
            self._pool.give_back(connection)
            raise FAILURES.get(data.decode(), BrokenAnswerError)("the broker's request failed")
        status, answered = orjson.loads(data)
        answer = PooledAnswer(status, answered, connection, self._pool.give_back)
        answer.call_id = str(number)
        return answer

    def close(self) -> None:
        self._pool.close()

    async def _open_connection(self) -> BrokerConnection:
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


@cache
def open_broker_link(fd: int) -> BrokerLink:
    """Return the process's link over an inherited descriptor."""
    os.set_inheritable(fd, False)  # noqa: FBT003 - the standard library takes it by position
    return BrokerLink(socket.socket(fileno=fd))
