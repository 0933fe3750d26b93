"""HTTP/1.1 connections that are kept alive, for one exchange at a time, and their answers.

httptools parses and asyncio moves the bytes. httpx's own transport adds streams and cancel scopes
between them and takes three times as long.
"""

import asyncio
import math
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import structlog
from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from thinker.http.exchange import (
    BodyTooLargeError,
    BrokenAnswerError,
    ConnectError,
    HttpAnswer,
    HttpError,
    SilenceError,
)

MAX_UNREAD_BYTES = 256 * 1024  # received and not consumed, at which reading pauses
IDLE_SECONDS = 120.0  # before an idle connection is closed, unless the server names a time
MAX_IDLE_CONNECTIONS = 32  # connections of one pool
log = structlog.get_logger()


class KeptConnection(asyncio.Protocol, ABC):
    """One connection, which stops reading while the body is not consumed.

    ``read`` seconds bound each wait for data; all methods that wait raise `HttpError`.
    """

    transport: asyncio.Transport  # set when connected

    def __init__(self, read: float = math.inf) -> None:
        self.idle_seconds = IDLE_SECONDS
        self.pieces: list[bytes] = []  # of the answer's body, not consumed yet
        self.ended = True  # idle: the answer has arrived, or no request was made
        self.lost: HttpError | None = None
        self._read = read
        self._unread = 0
        self._waiting: asyncio.Future[None] | None = None

    @abstractmethod
    def accept_data(self, data: bytes) -> None:
        """Accept data that has arrived."""

    async def iter_body(self) -> AsyncIterator[bytes]:
        """Yield the answer's body in pieces, beginning with what has arrived."""
        while not self.is_complete:
            while not (self.pieces or self.ended):
                await self.wait_for_data()
            piece = b"".join(self.pieces)
            self.pieces.clear()
            if self._unread > MAX_UNREAD_BYTES:
                self.transport.resume_reading()
            self._unread = 0
            if piece:
                yield piece

    @property
    def is_complete(self) -> bool:
        """Whether the whole answer was consumed."""
        return self.ended and not self.pieces

    def is_reusable(self) -> bool:
        """Return whether the connection can serve the next exchange."""
        return self.ended and not self.pieces and self.lost is None and self.idle_seconds > 0

    def abort_connection(self) -> None:
        """Close immediately, whatever is in progress."""
        self.transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.Transport):
            self.transport = transport

    def data_received(self, data: bytes) -> None:
        self._unread += len(data)
        if self._unread > MAX_UNREAD_BYTES:
            self.transport.pause_reading()
        self.accept_data(data)
        waiting = self._waiting
        if waiting is not None and not waiting.done():
            waiting.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        self.mark_broken(str(exc or "the connection was closed"))
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def mark_broken(self, problem: str) -> None:
        """Allow no further exchange, and abort the current one unless its answer is complete."""
        self.lost = self.lost or BrokenAnswerError(problem)
        self.transport.abort()

    async def wait_for_data(self) -> None:
        """Wait until more data arrives."""
        if self._unread > MAX_UNREAD_BYTES:
            self.transport.resume_reading()
        self._unread = 0
        if self.lost is not None:
            raise self.lost
        loop = asyncio.get_running_loop()
        self._waiting = loop.create_future()
        timer = loop.call_later(self._read, self._expire_wait) if self._read < math.inf else None
        try:
            await self._waiting
        finally:
            if timer is not None:
                timer.cancel()
            self._waiting = None

    def _expire_wait(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(SilenceError(f"nothing for {self._read} s"))


ConnectionT = TypeVar("ConnectionT", bound=KeptConnection)


class Connections(Generic[ConnectionT]):
    """A pool of connections to one server.

    Opens them with ``open_one`` and reuses idle ones.
    """

    def __init__(self, open_one: Callable[[], Awaitable[ConnectionT]]) -> None:
        self._open = open_one
        self._idle: list[tuple[ConnectionT, asyncio.TimerHandle]] = []
        self._warming: asyncio.Task[None] | None = None

    async def take_connection(self) -> ConnectionT:
        """Return an idle or a new connection; pass it to `give_back` afterwards.

        Raises:
            ConnectError: connecting failed.
        """
        while True:
            while self._idle:
                connection, timer = self._idle.pop()
                timer.cancel()
                if connection.is_reusable():
                    return connection
                connection.abort_connection()
            if self._warming is None:
                return await self._open()
            warming, self._warming = self._warming, None  # other callers open their own
            await asyncio.wait((warming,))

    def give_back(self, connection: ConnectionT) -> None:
        """Keep the connection for reuse if possible; otherwise close it."""
        if not connection.is_reusable() or len(self._idle) >= MAX_IDLE_CONNECTIONS:
            connection.abort_connection()
            return
        timer = asyncio.get_running_loop().call_later(
            connection.idle_seconds, connection.abort_connection
        )
        self._idle.append((connection, timer))

    def warm_connection(self) -> None:
        """Open a connection for a request that is about to come, unless one is idle."""
        if self._warming is None and not any(one.is_reusable() for one, _ in self._idle):
            self._warming = asyncio.get_running_loop().create_task(self._open_idle_connection())

    def close(self) -> None:
        """Close the idle connections."""
        if self._warming is not None:
            self._warming.cancel()
        while self._idle:
            connection, timer = self._idle.pop()
            timer.cancel()
            connection.abort_connection()

    async def _open_idle_connection(self) -> None:
        try:
            self.give_back(await self._open())
        except HttpError as error:  # the next request reports it
            log.debug("warm_up_failed", error=str(error))
        finally:
            if self._warming is asyncio.current_task():
                self._warming = None


@dataclass(eq=False)
class PooledAnswer(HttpAnswer):
    """An answer over a pooled connection, which returns to its pool afterwards."""

    connection: KeptConnection
    give_back: Callable[[Any], None]
    _is_open: bool = field(default=True, init=False)

    @property
    def is_complete(self) -> bool:
        return self.connection.is_complete

    def iter_pieces(self) -> AsyncIterator[bytes]:
        return self.connection.iter_body()

    async def read(self, limit: int) -> bytes:
        connection, body = self.connection, bytearray()
        try:
            while True:
                for piece in connection.pieces:
                    body += piece
                connection.pieces.clear()
                if len(body) > limit:
                    raise BodyTooLargeError(f"more than {limit} bytes")
                if connection.ended:
                    return bytes(body)
                await connection.wait_for_data()
        finally:
            self.close()

    def close(self) -> None:
        """Return the connection to its pool, which closes one with an unfinished answer."""
        if self._is_open:
            self._is_open = False
            self.give_back(self.connection)


MAX_HEAD = 100 * 1024  # bytes of a response head, or of anything else outside the body
MAX_INFORMATIONAL_RESPONSES = 16  # before the final response
SWITCHED = 101  # the status of a connection that changes to another protocol
FINAL = 200  # the lowest status of a final response
LENGTHS = {"content-length", "transfer-encoding"}  # headers that say how long a body is
VERSIONS = ("1.0", "1.1")
LINE = re.compile(r"[\w!#$%&'*+.^`|~-]+(?: [!-~]+ HTTP/1\.1|: [\t -~]*)", re.ASCII)  # of a head
TIMEOUT = re.compile(r"timeout\s*=\s*(\d{1,9})", re.IGNORECASE)  # in a Keep-Alive header


def format_request_head(method: str, target: str, headers: Mapping[str, str]) -> bytes:
    """Return the head of a request.

    Raise `ConnectError` if a value contains a line break or other invalid characters.
    """
    lines = [f"{method} {target} HTTP/1.1", *[f"{key}: {headers[key]}" for key in headers]]
    if not all(map(LINE.fullmatch, lines)):
        raise ConnectError("the request contains invalid characters")
    return "\r\n".join((*lines, "\r\n")).encode("ascii")


class HttpConnection(KeptConnection):
    """A connection to a web server or proxy.

    The parser calls the methods that begin with ``on_``, and stops at an exception from them.
    """

    _parser: HttpResponseParser  # of the last response

    async def send_request(self, request: bytes) -> None:
        """Send a request and wait for the head of its response."""
        self._parser = HttpResponseParser(self)
        self.status, self.headers, self.ended = 0, dict[str, str](), False
        self._informational = 0
        self._other = 0  # bytes since the last piece of the body
        self.transport.write(request)
        while not self.status:
            await self.wait_for_data()
        told = self.headers.get("keep-alive")
        found = None if told is None else TIMEOUT.search(told)
        if found is not None:  # minus one for the transmission
            self.idle_seconds = min(self.idle_seconds, float(found[1]) - 1)

    def accept_data(self, data: bytes) -> None:
        view = memoryview(data)
        try:
            # In two parts, since the parser would skip an empty line behind the response.
            for part in (view[:-1], view[-1:]):
                if self.ended:
                    self.mark_broken("more follows the answer")
                    return
                self._other += len(part)
                self._parser.feed_data(part)
            if self._other > MAX_HEAD:
                self.mark_broken("its head is too long")
        except BrokenAnswerError as error:
            self.mark_broken(str(error))
        except (HttpParserError, HttpParserUpgrade) as error:
            self.mark_broken(str(error.__context__ or error))

    def connection_lost(self, exc: Exception | None) -> None:
        if exc is None and self.lost is None and not self.ended and self.status:
            # A response without a length ends with its connection.
            self.ended = self.headers.keys().isdisjoint(LENGTHS)
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        self.headers = {}
        if self.ended:
            raise BrokenAnswerError("more follows the answer")

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.status:  # behind the body
            return
        key, text = name.decode("ascii").lower(), value.decode("latin-1").strip(" \t")
        if key == "transfer-encoding" and text.lower() != "chunked":
            raise BrokenAnswerError(f"unsupported transfer encoding {text!r}")
        self.headers[key] = text

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if self._parser.get_http_version() not in VERSIONS or status in {0, SWITCHED}:
            raise BrokenAnswerError("the server switched to another protocol")
        if status >= FINAL:
            self.status = status
            if not self._parser.should_keep_alive():
                self.idle_seconds = 0.0
        elif self._informational == MAX_INFORMATIONAL_RESPONSES:
            raise BrokenAnswerError("too many informational responses")
        self._informational += 1

    def on_body(self, data: bytes) -> None:
        self._other = 0
        self.pieces.append(data)

    def on_message_complete(self) -> None:
        self.ended = self.status > 0
