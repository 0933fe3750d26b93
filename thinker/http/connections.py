"""HTTP/1.1 client connections: kept alive, one exchange at a time.

h11 parses and asyncio moves the bytes. httpx's own transport adds streams and cancel scopes between
them and takes three times as long.
"""

import asyncio
import math
import re
from collections.abc import AsyncIterator, Awaitable, Callable

import h11
import structlog

from thinker.http.exchange import BrokenAnswerError, ConnectError, HttpError, SilenceError

MAX_HEAD = 100 * 1024  # bytes of a response head
UNREAD = 256 * 1024  # bytes received and not consumed at which reading pauses
MOST_INFORMATIONAL = 16  # responses before the one that counts
KEPT = 120.0  # seconds that an idle connection stays open, if the server names no other time
MOST_IDLE = 32  # connections of one pool
TIMEOUT = re.compile(rb"timeout\s*=\s*(\d{1,9})", re.IGNORECASE)  # in a Keep-Alive header
log = structlog.get_logger()


class HttpConnection(asyncio.Protocol):
    """One connection. The caller of `ask` reads the response to its end, or calls `end`.

    It stops reading from the network while the caller consumes nothing. ``read`` seconds bound each
    wait for data; all methods that wait raise `HttpError`.
    """

    transport: asyncio.Transport  # set when connected

    def __init__(self, read: float) -> None:
        self._read = read
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD)
        self._waiting: asyncio.Future[None] | None = None
        self._lost = False
        self._problem: Exception | None = None
        self._unread = 0  # bytes since the parser last asked for more
        self._kept = KEPT
        self.expires = 0.0  # when to close it if it is idle, in the event loop's time

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.Transport):
            self.transport = transport

    def data_received(self, data: bytes) -> None:
        self._http.receive_data(data)
        self._unread += len(data)
        if self._unread > UNREAD:
            self.transport.pause_reading()
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        if exc is None:
            self._http.receive_data(b"")  # end-of-file may complete a response
        self._lost, self._problem = True, exc
        self._wake()

    async def ask(self, request: h11.Request, body: bytes) -> h11.Response:
        """Send a request and return the head of the response."""
        events = (request, h11.Data(data=body), h11.EndOfMessage())
        try:
            sent = b"".join(self._http.send(event) or b"" for event in events)
        except h11.LocalProtocolError as error:
            raise ConnectError(f"this cannot be sent: {error}") from error
        self.transport.write(sent)
        for _ in range(MOST_INFORMATIONAL):
            event = await self._event()
            if isinstance(event, h11.Response):
                self._kept = _kept(event)
                return event
            if not isinstance(event, h11.InformationalResponse):
                break
        raise BrokenAnswerError("the connection ended without a response")

    async def body(self) -> AsyncIterator[bytes]:
        """Yield the response's body in pieces."""
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
                raise BrokenAnswerError(str(problem)) from problem
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
        idle = self._http.our_state is h11.IDLE and not self._lost
        return idle and self._http.trailing_data == (b"", False)

    def keep(self) -> None:
        """Begin to be idle."""
        self.expires = asyncio.get_running_loop().time() + self._kept

    def end(self) -> None:
        """Close at once, whatever is in progress."""
        self.transport.abort()

    async def _event(self) -> h11.Event | None:
        """Return the next event; None if h11 says that none will follow."""
        try:
            while (event := self._http.next_event()) is h11.NEED_DATA:
                await self._data()
        except h11.RemoteProtocolError as error:
            raise BrokenAnswerError(str(error)) from error
        return event if isinstance(event, h11.Event) else None

    async def _data(self) -> None:
        """Wait for more."""
        if self._unread > UNREAD:
            self.transport.resume_reading()
        self._unread = 0
        if self._lost:
            raise BrokenAnswerError(str(self._problem)) from self._problem
        loop = asyncio.get_running_loop()
        self._waiting = loop.create_future()
        timer = loop.call_later(self._read, self._expire) if self._read < math.inf else None
        try:
            await self._waiting
        finally:
            if timer is not None:
                timer.cancel()
            self._waiting = None

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def _expire(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(SilenceError(f"nothing for {self._read} s"))


def _kept(response: h11.Response) -> float:
    """Return for how many seconds the server keeps the connection, minus one for the way."""
    for name, value in response.headers:
        if name == b"keep-alive" and (found := TIMEOUT.search(value)):
            return min(KEPT, float(found[1]) - 1)
    return KEPT


class Connections:
    """Connections to one server, which ``open_one`` opens; idle ones are reused."""

    def __init__(self, open_one: Callable[[], Awaitable[HttpConnection]]) -> None:
        self._open = open_one
        self._idle: list[HttpConnection] = []
        self._sweeping: asyncio.TimerHandle | None = None
        self._warming: asyncio.Task[None] | None = None

    async def take(self) -> HttpConnection:
        """Return an idle connection or open one; give it back with `give_back`.

        Raises:
            ConnectError: connecting failed.
        """
        if not self._prune() and self._warming is not None:
            warming, self._warming = self._warming, None  # others open one of their own
            await asyncio.wait((warming,))
        return self._idle.pop() if self._prune() else await self._open()

    def give_back(self, connection: HttpConnection) -> None:
        """Keep the connection for reuse if possible; otherwise close it."""
        if not connection.reusable() or len(self._idle) >= MOST_IDLE:
            connection.end()
            return
        connection.keep()
        self._idle.append(connection)
        if self._sweeping is None:
            self._sweep()

    def warm(self) -> None:
        """See to it that a connection is idle soon: a request is about to come."""
        if not self._prune() and self._warming is None:
            self._warming = asyncio.get_running_loop().create_task(self._warm())

    def close(self) -> None:
        """End the idle connections."""
        if self._warming is not None:
            self._warming.cancel()
        if self._sweeping is not None:
            self._sweeping.cancel()
        for connection in self._idle:
            connection.end()
        self._idle.clear()

    async def _warm(self) -> None:
        try:
            self.give_back(await self._open())
        except HttpError as error:  # the request that follows says it
            log.debug("warm_up_failed", error=str(error))
        finally:
            if self._warming is asyncio.current_task():
                self._warming = None

    def _prune(self) -> bool:
        """End idle connections that are of no use any more; return whether one is left."""
        now = asyncio.get_running_loop().time()
        while self._idle and not (self._idle[-1].reusable() and now < self._idle[-1].expires):
            self._idle.pop().end()
        return bool(self._idle)

    def _sweep(self) -> None:
        """End what has been idle for long enough, and look again when the next one has."""
        loop = asyncio.get_running_loop()
        now, idle = loop.time(), self._idle
        self._idle = [one for one in idle if now < one.expires and one.reusable()]
        for connection in set(idle) - set(self._idle):
            connection.end()
        first = min((one.expires for one in self._idle), default=None)
        self._sweeping = None if first is None else loop.call_at(first, self._sweep)
