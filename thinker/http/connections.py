"""HTTP/1.1 as a client of one address: connections that are kept, with one exchange at a time.

What goes over a connection is h11's business, and the bytes are asyncio's. httpx's own transport
puts a pool, streams and cancel scopes between the two and takes three times as long.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import partial

import anyio
import h11

MAX_HEAD = 100 * 1024  # bytes of an answer's head; as httpx has it
KEPT = 5.0  # seconds that an idle connection stays open; httpx's default
NEXT_ADDRESS = 0.25  # seconds until a host's next address is tried, too; RFC 8305


@dataclass(frozen=True)
class HostAddress:
    """Where to connect; without ``tls`` as it is. Timeouts are in seconds.

    ``connect`` is for all that it takes to have a connection, ``read`` for each wait after that.
    """

    host: str
    port: int
    tls: ssl.SSLContext | None
    connect: float
    read: float


class Connection(asyncio.Protocol):
    """One connection; whoever has asked reads the answer to its end, or ends the connection."""

    def __init__(self, read: float) -> None:
        self._read = read
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD)
        self._transport: asyncio.Transport | None = None
        self._waiting: asyncio.Future[None] | None = None
        self._problem: Exception | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It stands."""
        if isinstance(transport, asyncio.Transport):
            self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Something came."""
        self._http.receive_data(data)
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over, with what broke it."""
        if exc is None:
            self._http.receive_data(b"")  # the end, which may be that of an answer
        self._problem = exc
        self._wake()

    async def ask(self, request: h11.Request, body: bytes) -> h11.Response:
        """Send a request; the head of its answer.

        Raises:
            OSError: the connection broke.
            TimeoutError: nothing came in time.
            h11.RemoteProtocolError: what came is no answer.
        """
        events = (request, h11.Data(data=body), h11.EndOfMessage())
        sent = b"".join(self._http.send(event) or b"" for event in events)
        if self._transport is not None:
            self._transport.write(sent)
        while not isinstance(event := await self._event(), h11.Response):
            if not isinstance(event, h11.InformationalResponse):
                raise h11.RemoteProtocolError("the connection ended without an answer")
        return event

    async def body(self) -> AsyncIterator[bytes]:
        """The answer's body piece by piece; raises as `ask` does."""
        while isinstance(event := await self._event(), h11.Data):
            yield bytes(event.data)

    def reusable(self) -> bool:
        """Whether there can be another exchange: the last was ended, and nothing came after it."""
        if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
        idle = self._http.our_state is h11.IDLE and self._problem is None
        return idle and self._http.trailing_data == (b"", False)

    def end(self) -> None:
        """Close at once, whatever is under way."""
        if self._transport is not None:
            self._transport.abort()

    async def _event(self) -> h11.Event | None:
        """The next event; None where h11 says that none will come."""
        while (event := self._http.next_event()) is h11.NEED_DATA:
            if self._problem is not None:
                raise self._problem
            await self._more()
        return event if isinstance(event, h11.Event) else None

    async def _more(self) -> None:
        """Wait until something has come."""
        loop = asyncio.get_running_loop()
        self._waiting = loop.create_future()
        timer = loop.call_later(self._read, self._expire)
        try:
            await self._waiting
        finally:
            timer.cancel()
            self._waiting = None

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def _expire(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(TimeoutError())


class Connections:
    """The connections to one address; those that are idle are used again."""

    def __init__(self, address: HostAddress) -> None:
        self._address = address
        self._idle: dict[Connection, asyncio.TimerHandle] = {}

    async def take(self) -> Connection:
        """One that is idle, else a new one; it comes back with `give_back`.

        Raises:
            OSError: there is none to be had.
            TimeoutError: nor in time.
        """
        while self._idle:
            connection, expiry = self._idle.popitem()
            expiry.cancel()
            if connection.reusable():
                return connection
            connection.end()
        address = self._address
        with anyio.fail_after(address.connect):
            _, connection = await asyncio.get_running_loop().create_connection(
                partial(Connection, address.read),
                address.host,
                address.port,
                ssl=address.tls,
                happy_eyeballs_delay=NEXT_ADDRESS,
            )
        return connection

    def give_back(self, connection: Connection) -> None:
        """Keep it for a while if it can be used again."""
        if not connection.reusable():
            connection.end()
            return
        loop = asyncio.get_running_loop()
        self._idle[connection] = loop.call_later(KEPT, self._expire, connection)

    def close(self) -> None:
        """End those that are idle."""
        for connection, expiry in self._idle.items():
            expiry.cancel()
            connection.end()
        self._idle.clear()

    def _expire(self, connection: Connection) -> None:
        del self._idle[connection]
        connection.end()
