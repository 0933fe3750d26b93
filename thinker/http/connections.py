"""HTTP/1.1 client connections: kept alive, one exchange at a time.

h11 parses and asyncio moves the bytes. httpx's own transport adds a pool, streams and cancel scopes
between them and takes three times as long.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from functools import partial

import anyio
import h11

MAX_HEAD = 100 * 1024  # bytes of a response head; httpx's limit
UNREAD = 256 * 1024  # bytes received and not consumed at which reading pauses
KEPT = 5.0  # seconds an idle connection stays open; httpx's default
NEXT_ADDRESS = 0.25  # seconds before a host's next address is tried in parallel; RFC 8305


@dataclass(frozen=True)
class HostAddress:
    """Where to connect; ``tls`` None is plain HTTP. Timeouts are in seconds.

    ``connect`` bounds opening a connection as a whole, ``read`` each wait for data after that.
    """

    host: str
    port: int
    tls: ssl.SSLContext | None
    connect: float
    read: float

    async def open(self) -> "HttpConnection":
        """Connect.

        Raises:
            OSError: connecting failed.
            TimeoutError: it took longer than ``connect``.
        """
        with anyio.fail_after(self.connect):
            _, connection = await asyncio.get_running_loop().create_connection(
                partial(HttpConnection, self.read),
                self.host,
                self.port,
                ssl=self.tls,
                happy_eyeballs_delay=NEXT_ADDRESS,
            )
        return connection


class HttpConnection(asyncio.Protocol):
    """One connection. The caller of `ask` reads the response to its end, or calls `end`.

    It stops reading from the network while the caller consumes nothing.
    """

    _transport: asyncio.Transport  # set when connected

    def __init__(self, read: float) -> None:
        self._read = read
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD)
        self._waiting: asyncio.Future[None] | None = None
        self._problem: Exception | None = None
        self._unread = 0  # bytes since the parser last asked for more

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.Transport):
            self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._http.receive_data(data)
        self._unread += len(data)
        if self._unread > UNREAD:
            self._transport.pause_reading()
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        if exc is None:
            self._http.receive_data(b"")  # end-of-file may complete a response
        self._problem = exc
        self._wake()

    async def ask(self, request: h11.Request, body: bytes) -> h11.Response:
        """Send a request and return the head of the response.

        Raises:
            OSError: the connection broke.
            TimeoutError: no data arrived within ``read``.
            h11.RemoteProtocolError: the data is not an HTTP response.
        """
        events = (request, h11.Data(data=body), h11.EndOfMessage())
        sent = b"".join(self._http.send(event) or b"" for event in events)
        self._transport.write(sent)
        while not isinstance(event := await self._event(), h11.Response):
            if not isinstance(event, h11.InformationalResponse):
                raise h11.RemoteProtocolError("the connection ended without a response")
        return event

    async def body(self) -> AsyncIterator[bytes]:
        """Yield the response's body in pieces; raises as `ask` does."""
        while isinstance(event := await self._event(), h11.Data):
            pieces, problem = [bytes(event.data)], None
            # What has arrived already follows at once, so that it is handled once.
            try:
                while isinstance(following := self._http.next_event(), h11.Data):
                    pieces.append(bytes(following.data))
            except h11.RemoteProtocolError as error:
                problem = error
            yield b"".join(pieces)
            if problem is not None:
                raise problem
            if isinstance(following, h11.EndOfMessage):
                return

    @property
    def complete(self) -> bool:
        """Whether the whole response has been read."""
        return self._http.their_state is h11.DONE

    def reusable(self) -> bool:
        """Return whether the last exchange is complete and no stray data followed it."""
        if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
        idle = self._http.our_state is h11.IDLE and self._problem is None
        return idle and self._http.trailing_data == (b"", False)

    def end(self) -> None:
        """Close at once, whatever is in progress."""
        self._transport.abort()

    async def _event(self) -> h11.Event | None:
        """Return the next event; None if h11 says that none will follow."""
        while (event := self._http.next_event()) is h11.NEED_DATA:
            if self._unread > UNREAD:
                self._transport.resume_reading()
            self._unread = 0
            if self._problem is not None:
                raise self._problem
            loop = asyncio.get_running_loop()
            self._waiting = loop.create_future()
            timer = loop.call_later(self._read, self._expire)
            try:
                await self._waiting
            finally:
                timer.cancel()
                self._waiting = None
        return event if isinstance(event, h11.Event) else None

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def _expire(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(TimeoutError())


class Connections:
    """Connections of one kind, which ``open_one`` opens; idle ones are reused."""

    def __init__(self, open_one: Callable[[], Awaitable[HttpConnection]]) -> None:
        self._open = open_one
        self._idle: dict[HttpConnection, asyncio.TimerHandle] = {}

    async def take(self) -> HttpConnection:
        """Return an idle connection or open one; give it back with `give_back`.

        Raises:
            OSError: connecting failed.
            TimeoutError: connecting took too long.
        """
        while self._idle:
            connection, expiry = self._idle.popitem()
            expiry.cancel()
            if connection.reusable():
                return connection
            connection.end()
        return await self._open()

    def give_back(self, connection: HttpConnection) -> None:
        """Keep the connection for reuse if possible; otherwise close it."""
        if not connection.reusable():
            connection.end()
            return
        loop = asyncio.get_running_loop()
        self._idle[connection] = loop.call_later(KEPT, self._expire, connection)

    def close(self) -> None:
        for connection, expiry in self._idle.items():
            expiry.cancel()
            connection.end()
        self._idle.clear()

    def _expire(self, connection: HttpConnection) -> None:
        del self._idle[connection]
        connection.end()
