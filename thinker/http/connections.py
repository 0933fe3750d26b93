"""Connections that are kept alive, for one exchange at a time, and answers that come over them."""

import asyncio
import math
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Generic, TypeVar

import structlog

from thinker.http.exchange import BrokenAnswerError, HttpAnswer, HttpError, SilenceError

UNREAD = 256 * 1024  # bytes received and not consumed at which reading pauses
KEPT = 120.0  # seconds that an idle connection stays open, if the server names no other time
MOST_IDLE = 32  # connections of one pool
log = structlog.get_logger()


class KeptConnection(asyncio.Protocol, ABC):
    """One connection, which stops reading from the network while its user consumes nothing.

    ``read`` seconds bound each wait for data; all methods that wait raise `HttpError`.
    """

    transport: asyncio.Transport  # set when connected

    def __init__(self, read: float = math.inf) -> None:
        self.kept = KEPT
        self.pieces: list[bytes] = []  # of the answer's body, not consumed yet
        self.ended = True  # nothing is expected: the answer has arrived, or nothing was asked
        self.lost: HttpError | None = None
        self._read = read
        self._unread = 0
        self._waiting: asyncio.Future[None] | None = None

    @abstractmethod
    def take(self, data: bytes) -> None:
        """Take what has arrived."""

    async def body(self) -> AsyncIterator[bytes]:
        """Yield the answer's body in pieces; what has arrived already is one."""
        while not self.complete:
            while not (self.pieces or self.ended):
                await self.more()
            piece = b"".join(self.pieces)
            self.pieces.clear()
            self._consumed()
            if piece:
                yield piece

    @property
    def complete(self) -> bool:
        """Whether all of the answer was consumed."""
        return self.ended and not self.pieces

    def reusable(self) -> bool:
        """Return whether the connection can serve the next exchange."""
        return self.complete and self.lost is None

    def end(self) -> None:
        """Close at once, whatever is in progress."""
        self.transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.Transport):
            self.transport = transport

    def data_received(self, data: bytes) -> None:
        self._unread += len(data)
        if self._unread > UNREAD:
            self.transport.pause_reading()
        self.take(data)
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self.fail(str(exc or "the connection ended"))
        self._wake()

    def fail(self, problem: str) -> None:
        """Let no exchange follow, and end the one under way unless its answer is there."""
        self.lost = self.lost or BrokenAnswerError(problem)
        self.transport.abort()

    async def more(self) -> None:
        """Wait for more to arrive."""
        self._consumed()
        if self.lost is not None:
            raise self.lost
        loop = asyncio.get_running_loop()
        self._waiting = loop.create_future()
        timer = loop.call_later(self._read, self._expire) if self._read < math.inf else None
        try:
            await self._waiting
        finally:
            if timer is not None:
                timer.cancel()
            self._waiting = None

    def _consumed(self) -> None:
        if self._unread > UNREAD:
            self.transport.resume_reading()
        self._unread = 0

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def _expire(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(SilenceError(f"nothing for {self._read} s"))


ConnectionT = TypeVar("ConnectionT", bound=KeptConnection)


class Connections(Generic[ConnectionT]):
    """Connections to one server, which ``open_one`` opens; idle ones are reused."""

    def __init__(self, open_one: Callable[[], Awaitable[ConnectionT]]) -> None:
        self._open = open_one
        self._idle: list[tuple[ConnectionT, asyncio.TimerHandle]] = []
        self._warming: asyncio.Task[None] | None = None

    async def take(self) -> ConnectionT:
        """Return an idle connection or open one; give it back with `give_back`.

        Raises:
            ConnectError: connecting failed.
        """
        found = self._reused()
        if found is None and self._warming is not None:
            warming, self._warming = self._warming, None  # others open one of their own
            await asyncio.wait((warming,))
            found = self._reused()
        return found or await self._open()

    def give_back(self, connection: ConnectionT) -> None:
        """Keep the connection for reuse if possible; otherwise close it."""
        if not connection.reusable() or connection.kept <= 0 or len(self._idle) >= MOST_IDLE:
            connection.end()
            return
        timer = asyncio.get_running_loop().call_later(connection.kept, connection.end)
        self._idle.append((connection, timer))

    def warm(self) -> None:
        """See to it that a connection is idle soon: a request is about to come."""
        if self._warming is None and not any(one.reusable() for one, _ in self._idle):
            self._warming = asyncio.get_running_loop().create_task(self._warm())

    def close(self) -> None:
        """End the idle connections."""
        if self._warming is not None:
            self._warming.cancel()
        while self._idle:
            connection, timer = self._idle.pop()
            timer.cancel()
            connection.end()

    async def _warm(self) -> None:
        try:
            self.give_back(await self._open())
        except HttpError as error:  # the request that follows says it
            log.debug("warm_up_failed", error=str(error))
        finally:
            if self._warming is asyncio.current_task():
                self._warming = None

    def _reused(self) -> ConnectionT | None:
        while self._idle:
            connection, timer = self._idle.pop()
            timer.cancel()
            if connection.reusable():
                return connection
            connection.end()
        return None


class PooledAnswer(HttpAnswer):
    """An answer that comes over a connection of a pool."""

    def __init__(
        self,
        status: int,
        headers: Mapping[str, str],
        connection: ConnectionT,
        pool: Connections[ConnectionT],
    ) -> None:
        super().__init__(status, headers)
        self._connection: KeptConnection = connection
        self._give_back: Callable[[], None] | None = lambda: pool.give_back(connection)

    @property
    def complete(self) -> bool:
        return self._connection.complete

    def pieces(self) -> AsyncIterator[bytes]:
        return self._connection.body()

    def close(self) -> None:
        """Keep the connection, whose answer was read to its end, or close it."""
        give_back, self._give_back = self._give_back, None
        if give_back is not None:
            give_back()
